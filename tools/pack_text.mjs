// packText(bytes): text as short as a few lines of C can unpack it (src/base/unpack.c): runs of new bytes and of bytes
// that were there before, by turns. A run begins with its length less `least` in a nibble of a shared byte (15: and the
// bytes that follow, up to the first below 255), as in LZ4; where the old bytes are follows as 16 bits.
const LEAST_MATCH = 4, WINDOW = 65535, MOST_TRIED = 256;

function longestMatch(bytes, at, earlier) {
    let length = 0, from = 0;
    for (let k = earlier.length - 1, tried = 0; k >= 0 && tried < MOST_TRIED && at - earlier[k] <= WINDOW; k--, tried++) {
        let n = 0;
        while (at + n < bytes.length && bytes[earlier[k] + n] === bytes[at + n]) n++;
        if (n > length) [length, from] = [n, earlier[k]];
    }
    return [length, from];
}

export function packText(bytes) {
    const places = new Map(), out = []; // of every four bytes
    const key = (at) => (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0;
    const note = (at) => {
        if (at + LEAST_MATCH > bytes.length) return;
        const k = key(at);
        if (!places.has(k)) places.set(k, []);
        places.get(k).push(at);
    };
    const match = (at) => (at + LEAST_MATCH > bytes.length ? [0, 0] : longestMatch(bytes, at, places.get(key(at)) ?? []));
    const more = (length) => {
        for (let left = length - 15; left >= 0; left -= 255) out.push(Math.min(left, 255));
    };
    let begin = 0, at = 0;
    while (at < bytes.length) {
        const [length, from] = match(at);
        note(at);
        if (length < LEAST_MATCH || match(at + 1)[0] > length + 1) { // a longer one begins at the next byte
            at++;
            continue;
        }
        const fresh = at - begin, old = length - LEAST_MATCH, distance = at - from;
        out.push((Math.min(fresh, 15) << 4) | Math.min(old, 15));
        more(fresh);
        out.push(...bytes.subarray(begin, at), distance & 255, distance >> 8);
        more(old);
        for (let i = 1; i < length; i++) note(at + i);
        begin = at += length;
    }
    const fresh = bytes.length - begin;
    out.push(Math.min(fresh, 15) << 4);
    more(fresh);
    out.push(...bytes.subarray(begin));
    return out;
}
