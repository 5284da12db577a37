// Where pages keep files, for hosts that have no such place: as much of it as models.js uses, in memory.
const missing = () => Object.assign(new Error("not there"), { name: "NotFoundError" });

class Handle {
    data = new Uint8Array(0);
    open = false;

    async getFile() {
        return new Blob([this.data]);
    }

    async createSyncAccessHandle() {
        if (this.open) throw Object.assign(new Error("it is open already"), { name: "NoModificationAllowedError" });
        this.open = true;
        return {
            getSize: () => this.data.length,
            truncate: (size) => (this.data = Uint8Array.from({ length: size }, (_, i) => this.data[i] ?? 0)),
            read: (to, { at }) => {
                const part = this.data.subarray(at, at + to.length);
                to.set(part);
                return part.length;
            },
            write: (bytes, { at }) => {
                if (this.full) throw Object.assign(new Error("no room"), { name: "QuotaExceededError" });
                const grown = new Uint8Array(Math.max(this.data.length, at + bytes.length));
                grown.set(this.data);
                grown.set(bytes, at);
                this.data = grown;
                return bytes.length;
            },
            flush() {},
            close: () => (this.open = false),
        };
    }
}

export class Folder {
    files = new Map();
    folders = new Map();

    async getDirectoryHandle(name) {
        if (!this.folders.has(name)) this.folders.set(name, new Folder());
        return this.folders.get(name);
    }

    async getFileHandle(name, { create = false } = {}) {
        if (!this.files.has(name) && !create) throw missing();
        if (!this.files.has(name)) this.files.set(name, new Handle());
        return this.files.get(name);
    }

    async removeEntry(name) {
        if (!this.files.has(name)) throw missing();
        if (this.files.get(name).open) throw Object.assign(new Error("it is in use"), { name: "NoModificationAllowedError" });
        this.files.delete(name);
    }

    async *entries() {
        yield* this.files;
    }
}
