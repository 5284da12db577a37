// packText(bytes): text as short as some lines of C can unpack it (src/base/unpack.c). It consists of new bytes and of runs of
// bytes that were there before, at a distance; a bit tells which comes. All bits are range-coded, each with a probability
// of its own that adapts: of a new byte by the byte before it, of numbers by how many bits they have.
const BITS = 12, SHIFT = 4, HALF = 1 << (BITS - 1);
const LEAST_RUN = 2, MOST_TRIED = 2000;

class Coder {
    out = [];
    #low = 0; // up to 2^33: a carry stands above 32 bits
    #range = 0xffffffff;
    #held = 0; // the byte that a carry would change, and how many 255 wait behind it
    #waiting = -1; // -1: there is no such byte yet

    bit(model, at, value) {
        const bound = (this.#range >>> BITS) * model[at];
        if (value) {
            this.#low += bound;
            this.#range -= bound;
            model[at] -= model[at] >> SHIFT;
        } else {
            this.#range = bound;
            model[at] += ((1 << BITS) - model[at]) >> SHIFT;
        }
        while (this.#range < 2 ** 24) {
            this.#range *= 256;
            this.#shift();
        }
    }

    #shift() {
        const carry = this.#low >= 2 ** 32 ? 1 : 0;
        if (this.#low < 0xff000000 || carry) {
            if (this.#waiting >= 0) this.out.push((this.#held + carry) & 255);
            for (; this.#waiting > 0; this.#waiting--) this.out.push((255 + carry) & 255);
            this.#waiting = 0;
            this.#held = Math.floor(this.#low / 2 ** 24) & 255;
        } else this.#waiting++;
        this.#low = (this.#low % 2 ** 24) * 256;
    }

    end() {
        for (let i = 0; i < 5; i++) this.#shift();
        while (this.out.at(-1) === 0) this.out.pop(); // behind the end, zeros are read
        return this.out;
    }
}

const model = (count) => new Uint16Array(count).fill(HALF);
const numberModel = () => ({ bits: model(32), high: Array.from({ length: 20 }, () => model(16)), low: model(20) });

class Writer {
    #coder = new Coder();
    #kind = model(2);
    #fresh = Array.from({ length: 256 }, () => model(256));
    #again = model(1);
    #length = numberModel();
    #distance = [numberModel(), numberModel()]; // of the shortest runs, and of others
    #ran = 0; // the last thing was a run
    #last = 0; // its distance

    #tree(of, bits, value) {
        for (let node = 1, i = bits - 1; i >= 0; i--) {
            const bit = (value >> i) & 1;
            this.#coder.bit(of, node, bit);
            node = node * 2 + bit;
        }
    }

    /** From 1 on: how many bits it has, the four below the first, and the others. */
    #number(of, value) {
        const bits = 31 - Math.clz32(value), high = Math.min(bits, 4);
        this.#tree(of.bits, 5, bits);
        this.#tree(of.high[bits], high, (value >> (bits - high)) & ((1 << high) - 1));
        for (let i = bits - high - 1; i >= 0; i--) this.#coder.bit(of.low, bits, (value >> i) & 1);
    }

    byte(before, value) {
        this.#coder.bit(this.#kind, this.#ran, 0);
        this.#tree(this.#fresh[before], 8, value);
        this.#ran = 0;
    }

    run(length, distance) {
        const again = distance === this.#last;
        this.#coder.bit(this.#kind, this.#ran, 1);
        this.#number(this.#length, length - LEAST_RUN + 1);
        this.#coder.bit(this.#again, 0, again ? 1 : 0);
        if (!again) this.#number(this.#distance[length > LEAST_RUN + 1 ? 1 : 0], distance);
        [this.#ran, this.#last] = [1, distance];
    }

    end() {
        return this.#coder.end();
    }
}

/** About how many bits a run takes more than it is worth: those of its distance, less some for every byte. */
const price = (length, distance, last) => 5 + (distance === last ? 0 : 3 + Math.log2(distance)) - 4.2 * length;

class Matches {
    #places = new Map(); // of every two bytes
    constructor(bytes) {
        this.bytes = bytes;
    }

    note(at) {
        const key = this.bytes[at] | (this.bytes[at + 1] << 8);
        if (!this.#places.has(key)) this.#places.set(key, []);
        this.#places.get(key).push(at);
    }

    /** The run at `at` that saves most: [price, length, distance]. */
    best(at, last) {
        const { bytes } = this, earlier = this.#places.get(bytes[at] | (bytes[at + 1] << 8)) ?? [];
        let found = [0, 0, 0], longest = 0;
        const look = (from) => {
            let n = 0;
            while (at + n < bytes.length && bytes[from + n] === bytes[at + n]) n++;
            const p = price(n, at - from, last);
            if (n >= LEAST_RUN && p < found[0]) found = [p, n, at - from];
            longest = Math.max(longest, n);
        };
        if (last && at >= last) look(at - last);
        for (let k = earlier.length - 1, tried = 0; k >= 0 && tried < MOST_TRIED; k--, tried++)
            if (bytes[earlier[k] + longest] === bytes[at + longest]) look(earlier[k]); // no other is longer, and all others are farther
        return found;
    }
}

export function packText(bytes) {
    const writer = new Writer(), matches = new Matches(bytes);
    let last = 0;
    for (let at = 0; at < bytes.length;) {
        const here = matches.best(at, last);
        matches.note(at);
        if (here[0] >= 0 || matches.best(at + 1, last)[0] < here[0] - 1) { // none, or a better one begins at the next byte
            writer.byte(at ? bytes[at - 1] : 0, bytes[at]);
            at++;
            continue;
        }
        const [, length, distance] = here;
        writer.run(length, distance);
        for (let i = 1; i < length; i++) matches.note(at + i);
        at += length;
        last = distance;
    }
    return writer.end();
}
