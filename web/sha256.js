// SHA-256 of data that arrives in pieces. The browser's own takes all data at once, and a model does not fit in memory.
const K = new Int32Array(64), START = new Int32Array(8);
for (let n = 2, i = 0; i < 64; n++) {
    let prime = true;
    for (let d = 2; d * d <= n; d++) prime &&= n % d !== 0;
    if (!prime) continue;
    const fraction = (x) => ((x - Math.floor(x)) * 2 ** 32) | 0;
    if (i < 8) START[i] = fraction(Math.sqrt(n));
    K[i++] = fraction(Math.cbrt(n));
}

export class Sha256 {
    #state = START.slice();
    #words = new Int32Array(64);
    #rest = new Uint8Array(64);
    #held = 0;
    #bytes = 0;

    #block(view, at) {
        const w = this.#words, s = this.#state;
        for (let i = 0; i < 16; i++) w[i] = view.getInt32(at + 4 * i);
        for (let i = 16; i < 64; i++) {
            const a = w[i - 15], b = w[i - 2];
            w[i] = (w[i - 16] + w[i - 7] + (((a >>> 7) | (a << 25)) ^ ((a >>> 18) | (a << 14)) ^ (a >>> 3)) +
                (((b >>> 17) | (b << 15)) ^ ((b >>> 19) | (b << 13)) ^ (b >>> 10))) | 0;
        }
        let a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
        for (let i = 0; i < 64; i++) {
            const one = (h + (((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))) + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
            const two = ((((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
            h = g; g = f; f = e; e = (d + one) | 0; d = c; c = b; b = a; a = (one + two) | 0;
        }
        s[0] += a; s[1] += b; s[2] += c; s[3] += d; s[4] += e; s[5] += f; s[6] += g; s[7] += h;
    }

    add(bytes) {
        this.#bytes += bytes.length;
        let at = 0;
        if (this.#held) {
            at = Math.min(64 - this.#held, bytes.length);
            this.#rest.set(bytes.subarray(0, at), this.#held);
            this.#held += at;
            if (this.#held < 64) return this;
            this.#block(new DataView(this.#rest.buffer), 0);
            this.#held = 0;
        }
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
        for (; at + 64 <= bytes.length; at += 64) this.#block(view, at);
        this.#rest.set(bytes.subarray(at));
        this.#held = bytes.length - at;
        return this;
    }

    /** As 64 hexadecimal digits; nothing can be added afterwards. */
    end() {
        const bits = this.#bytes * 8, filled = new Uint8Array(this.#held < 56 ? 64 : 128), view = new DataView(filled.buffer);
        filled.set(this.#rest.subarray(0, this.#held));
        filled[this.#held] = 0x80;
        view.setUint32(filled.length - 8, Math.floor(bits / 2 ** 32));
        view.setUint32(filled.length - 4, bits >>> 0);
        for (let at = 0; at < filled.length; at += 64) this.#block(view, at);
        return Array.from(this.#state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
    }
}
