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
