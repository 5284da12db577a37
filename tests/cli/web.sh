#!/bin/sh
# solo web: serves the page and nothing else.
set -u
work=$(mktemp -d) || exit 1
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT

check() { if [ "$2" = "$3" ]; then echo "ok $1"; else echo "not ok $1: '$2' instead of '$3'"; fi; }

mkdir "$work/page" "$work/page/folder"
echo '<p>hello' >"$work/page/index.html"
echo 'secret' >"$work/secret"
printf '\0asm' >"$work/page/a.wasm"
ln -s ../secret "$work/page/link"
"$SOLO" web --port 0 --dir "$work/page" >"$work/out" 2>"$work/err" &
server=$!
while kill -0 "$server" 2>/dev/null && [ ! -s "$work/out" ] && [ ! -s "$work/err" ]; do
    sleep 0.1
done
if grep -q libmicrohttpd "$work/err"; then
    echo "skip solo web: $(cat "$work/err")"
    exit 0
fi
url=$(cat "$work/out")

# ask METHOD PATH [HOST]: the answer, status line first
ask() {
    node -e '
        const [url, method, path, host] = process.argv.slice(1), { port } = new URL(url);
        const socket = require("net").connect(port, "127.0.0.1", () =>
            socket.write(`${method} ${path} HTTP/1.1\r\nHost: ${host || "localhost:" + port}\r\nConnection: close\r\n\r\n`));
        socket.pipe(process.stdout);' "$url" "$@"
}
status() { ask "$@" | head -n 1 | cut -d ' ' -f 2; }
header() { ask GET "$1" | tr -d '\r' | sed -n "s/^$2: //Ip"; }

check "the page is served" "$(ask GET / | tail -n 1)" '<p>hello'
check "isolated: who opened it" "$(header / cross-origin-opener-policy)" same-origin
check "isolated: what it embeds" "$(header / cross-origin-embedder-policy)" require-corp
check "not in a frame" "$(header / x-frame-options)" DENY
check "no base, no objects" "$(header / content-security-policy | cut -d ';' -f 1-3)" "frame-ancestors 'none'; base-uri 'none'; object-src 'none'"
check "no referrer" "$(header / referrer-policy)" no-referrer
# with HEADER: status and body of the answer to GET /a.wasm with one header more
with() {
    node -e '
        const [url, header] = process.argv.slice(1), { port } = new URL(url);
        const socket = require("net").connect(port, "127.0.0.1", () =>
            socket.write(`GET /a.wasm HTTP/1.1\r\nHost: LOCALHOST:${port}\r\n${header}\r\nConnection: close\r\n\r\n`));
        let text = "";
        socket.on("data", (bytes) => text += bytes.toString("latin1"));
        socket.on("end", () => process.stdout.write(`${text.split(" ")[1]} ${text.split("\r\n\r\n")[1].replace("\0", "0")}`));' "$url" "$1"
}
check "a part of a file" "$(with "Range: bytes=1-2")" "206 as"
check "the end of a file" "$(with "Range: bytes=-1")" "206 m"
check "from somewhere on" "$(with "Range: bytes=3-")" "206 m"
check "behind the end" "$(with "Range: bytes=4-")" "416 the file has no such bytes"
check "ranges that are not understood" "$(with "Range: bytes=9-1,x") $(with "Range: lines=1")" "200 0asm 200 0asm"
check "a file that is known" "$(with "If-None-Match: $(header /a.wasm etag)")" "304 "
check "also by a proxy that compresses, or one of several" "$(with "If-None-Match: \"x\", W/$(header /a.wasm etag)")" "304 "
check "whatever it is" "$(with "If-None-Match: *")" "304 "
check "another file is not" "$(with 'If-None-Match: "x", W/"y"')" "200 0asm"
node -e '
    const fs = require("fs"), [url, file] = process.argv.slice(1), { port } = new URL(url);
    fs.writeFileSync(file, "");
    fs.truncateSync(file, 5e7);
    const socket = require("net").connect(port, "127.0.0.1", () => socket.write(`GET /long.bin HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`));
    socket.pause(); // until the server cannot send more
    setTimeout(() => {
        fs.truncateSync(file, 1000);
        let bytes = 0;
        socket.on("data", (data) => bytes += data.length).on("end", () => console.log(bytes > 0 && bytes < 5e7 ? "cut off" : bytes)).on("error", () => console.log("cut off"));
        socket.resume();
        setTimeout(() => process.exit(), 5000).unref();
    }, 500);' "$url" "$work/page/long.bin" >"$work/long"
check "a file that becomes shorter while it is sent" "$(cat "$work/long")" "cut off"
mkfifo "$work/page/pipe"
check "a pipe" "$(status GET /pipe)" 404
check "wasm is wasm" "$(header /a.wasm content-type)" application/wasm
check "HEAD has no body" "$(ask HEAD /a.wasm | tr -d '\r\0' | tail -c 4 | grep -c asm)" 0
check "what is not there" "$(status GET /none)" 404
check "a folder is no file" "$(status GET /folder)" 404
check "not above the folder" "$(status GET /../secret)" 404
check "not above it by an encoded name" "$(status GET /%2e%2e/secret)" 404
check "not by a link" "$(status GET /link)" 404
check "nothing is taken" "$(status POST /)" 405
check "not by another name for this machine" "$(status GET / evil.example)" 403
kill "$server"
wait "$server"
check "it ends when told to" $? 0
server=

"$SOLO" web --dir "$work/nowhere" >/dev/null 2>"$work/err"
check "a folder that is not there" "$?$(sed 's/.*: //' "$work/err")" '1No such file or directory'
"$SOLO" web --port 70000 >/dev/null 2>&1
check "a port that is none" $? 2
"$SOLO" web --dir "$work/page" --port 0 --nonsense >/dev/null 2>&1
check "an option that is none" $? 2
