#!/bin/sh
# solo collect and solo share, as their users type them: taking, refusing, showing, exporting, importing, both databases.
set -u
work=$(mktemp -d) || exit 1
collector='' postgres=''
# shellcheck source=tests/cli/collect_servers.inc
. tests/cli/collect_servers.inc
trap 'kill -9 $collector 2>/dev/null; [ -z "$postgres" ] || kill_postgres; rm -rf "$work"' EXIT
check() { if [ "$2" = "$3" ]; then echo "ok $1"; else echo "not ok $1: '$2' instead of '$3'"; fi; }
contains() { if printf '%s' "$2" | grep -qF -- "$3"; then echo "ok $1"; else echo "not ok $1: no '$3' in '$(printf '%s' "$2" | head -c 300)'"; fi; }

record=results/h200/sim/builtin-pi.json
if ! start_collector "$work/db.sqlite" --rate 0 && grep -q libmicrohttpd "$work/err"; then
    echo "skip solo collect: $(cat "$work/err")"
    exit 0
fi

# ask METHOD PATH [FILE [HEADER...]]: the status, the headers and the body
ask() {
    node -e '
        const [url, method, path, file, ...headers] = process.argv.slice(1), http = require("http");
        const request = http.request(new URL(path, url), { method, headers: Object.fromEntries(headers.map((h) => h.split(/: (.*)/))) }, (reply) => {
            console.log(reply.statusCode);
            for (const [name, value] of Object.entries(reply.headers)) console.log(`${name}: ${value}`);
            console.log();
            reply.pipe(process.stdout);
        });
        request.on("error", (e) => console.log(e.message));
        request.end(file ? require("fs").readFileSync(file) : undefined);' "$url" "$@"
}
status() { ask "$@" | sed -n 1p; }
body() { ask "$@" | sed '1,/^$/d'; }
header() { ask GET "$1" | sed -n "s/^$2: //p"; }

# ---- taking and refusing

try_taking() { # of an engine
    reply=$(ask POST /api/records "$record")
    check "$1: a record is taken" "$(echo "$reply" | head -n 1)" 201
    id=$(echo "$reply" | sed -n 's/.*"id": "\([0-9a-f]*\)".*/\1/p')
    check "$1: its id is a SHA-256" "${#id}" 64
    check "$1: the reply says where it is" "$(echo "$reply" | sed -n 's/^location: //p')" "/records/$id"
    check "$1: the same record again is the same" "$(ask POST /api/records "$record" | sed -n '1p; s/.*"new": \([a-z]*\).*/\1/p' | tr '\n' ' ')" '200 false '
    check "$1: its id is that of its text" "$(body GET "/api/records/$id" | tr -d '\n' | sha256sum | cut -d ' ' -f 1)" "$id"
    check "$1: there is one" "$(body GET /api/records | grep -c '"id"')" 1
    check "$1: what is not there" "$(status GET "/api/records/$(echo "$id" | tr 0-9 1-90)")" 404
    check "$1: filters choose" "$(body GET '/api/records?vendor=AMD' | grep -c '"id"') $(body GET '/api/records?vendor=NVIDIA&experiment=sim' | grep -c '"id"')" '0 1'
    check "$1: an empty filter does not" "$(body GET '/api/records?vendor=' | grep -c '"id"')" 1
    check "$1: NDJSON has it as it is" "$(body GET /api/export.ndjson | head -n 1 | tr -d '\n' | sha256sum | cut -d ' ' -f 1)" "$id"
    check "$1: CSV has its points" "$(body GET /api/export.csv | grep -c "$id")" 3
    contains "$1: medians" "$(body GET '/api/summary?by=vendor')" '"group": "NVIDIA"'
    contains "$1: where it stands" "$(body GET "/api/records/$id/standing")" '"others": 0'
    contains "$1: the leaderboard" "$(body GET /)" "<a href=\"/records/$id\"><circle"
    contains "$1: the report" "$(body GET "/records/$id")" '<title>Solo report</title>'
    check "$1: health" "$(body GET /health)" ok
}
try_taking SQLite

refused() { # NAME TEXT SAID
    printf '%s' "$2" >"$work/sent"
    reply=$(ask POST /api/records "$work/sent")
    check "refused: $1" "$(echo "$reply" | head -n 1) $(echo "$reply" | sed '1,/^$/d' | wc -l)" '400 1'
    contains "and why: $1" "$reply" "$3"
}
refused "nothing" '' 'not JSON'
refused "no JSON" 'hello' 'not JSON'
refused "no record" '{}' '"schema" is missing'
refused "another median" "$(sed 's/"median": 5899.46138/"median": 9999/' "$record")" '"median" is 9999, but 5899.46138 by its samples'
refused "a failed check" "$(sed 's/"ok": true/"ok": false/' "$record")" 'what was not verified is not a result'
check "refused: too large" "$(status POST /api/records '' 'Content-Length: 5000000')" 413
check "refused: another method" "$(status PUT /api/records "$record")" 405
check "refused: sending elsewhere" "$(status POST / "$record")" 405
check "refused: an address that is none" "$(status GET /api/records/zzz)" 404
check "refused: a group that is none" "$(status GET '/?by=nothing')" 400
check "refused: a parameter that is none" "$(status GET '/api/records?vendro=AMD') $(status GET '/api/summary?limit=3') $(status GET '/api/export.csv?vendor=AMD') $(status GET '/?from=elsewhere') $(body GET '/api/records?vendro=AMD')" '400 400 400 200 there is no parameter "vendro" here'
check "refused: two values" "$(status GET '/api/records?limit=1&limit=2') $(status GET '/api/summary?by=vendor&by=device') $(body GET '/api/records?limit=1&limit=2')" '400 400 limit is there more than once'
check "refused: a page that is none" "$(status GET '/api/records?limit=0') $(status GET '/api/records?before=x')" '400 400'
check "refused: another name for this machine" "$(status GET / '' 'Host: evil.example')" 403
check "refused: a page of someone else's" "$(status POST /api/records "$record" 'Origin: https://evil.example')" 403
check "there is still one" "$(body GET /api/records | grep -c '"id"')" 1

# ---- hostile texts

# shellcheck disable=SC2016 # not for the shell
sed 's/"NVIDIA H200"/"<script>alert(1)<\/script>\\"'"'"'=1+1"/g; s/08:46/08:47/; s/"version": "0.1.0"/"version": "<b>0"/; s/"when": "[^"]*"/"when": "2026-01-01T00:00:00Z"/' "$record" >"$work/hostile.json"
check "a record with HTML in it is taken" "$(status POST /api/records "$work/hostile.json")" 201
hostile=$(body GET /api/records | grep -F 'script' | sed 's/.*"id": "\([0-9a-f]*\)".*/\1/')
check "and shown as text" "$(body GET / | grep -c '<script') $(body GET "/records/$hostile" | grep -c -e '<script' -e '<b>0')" '0 0'
contains "escaped" "$(body GET /)" '&lt;script&gt;'
contains "no script may run" "$(header / content-security-policy)" "default-src 'none'"
contains "nor in a report" "$(header "/records/$hostile" content-security-policy)" "default-src 'none'"
check "a cell of CSV is no formula" "$(body GET /api/export.csv | grep -c ',"=')" 0

# ---- importing and sharing

"$SOLO" collect import results --db "$work/db.sqlite" >"$work/said" 2>"$work/left_out"
check "import" $? 0
contains "import says how many" "$(cat "$work/said")" 'records added, '
contains "import names what is no record" "$(cat "$work/left_out")" 'left out: results/h200/web/page.visits.json: '
"$SOLO" collect import "$work/nowhere" --db "$work/db.sqlite" >/dev/null 2>"$work/err2"
check "import of nothing" "$? $(sed 's/.*: //' "$work/err2")" '1 No such file or directory'
mkfifo "$work/pipe.json"
timeout 600 "$SOLO" collect import "$work/pipe.json" --db "$work/db.sqlite" >/dev/null 2>"$work/err2"
check "import of a pipe" "$? $(sed 's/.*: //' "$work/err2")" '1 neither a file nor a folder'
ln -s "$work/nowhere" "$work/link.json"
"$SOLO" collect import "$work/link.json" --db "$work/db.sqlite" >/dev/null 2>"$work/err2"
check "import of a link without a file" "$? $(sed 's/.*: //' "$work/err2")" '1 a link that leads nowhere'
"$SOLO" collect export x --db "$work/db.sqlite" 2>/dev/null
check "an action that is none" $? 2
"$SOLO" collect import --db "$work/db.sqlite" 2>/dev/null
check "import without a path" $? 2
contains "charts of simulations" "$(body GET '/?show=sim')" 'loop: rastrigin, 4096 × 1, DIMENSIONS=10'
titles=$(body GET '/?show=sim&vendor=NVIDIA' | grep -o 'chart-title">[^<]*')
check "titles that are cut still differ" "$(echo "$titles" | grep -c '…$' | sed 's/[1-9].*/some/') $(echo "$titles" | sort | uniq -d)" 'some '
contains "software is apart" "$(body GET '/?backend=Vulkan')" '<h2>Software adapters, apart</h2>'
contains "by browser" "$(body GET '/?by=browser')" 'Firefox'
check "pages of a list" "$(body GET '/api/records?limit=5' | grep -c '"id"') $(body GET '/api/records?limit=5' | grep -c '"next": [0-9]')" '5 1'

"$SOLO" bench decoder -r 2 --adapter software --json "$work/decoder.json" >/dev/null 2>&1
"$SOLO" bench batch --texts 2 -p 8 -n 4 -r 2 --fuse ops --adapter software --json "$work/batch.json" >/dev/null 2>&1
check "a decoder's record is taken, and one of several texts" "$(status POST /api/records "$work/decoder.json") $(status POST /api/records "$work/batch.json")" '201 201'
contains "the decoder: one dispatch over many in one pass" "$(body GET '/?show=one')" 'a decoder, 64 tokens × 4 layers<'
contains "and over those that are waited for" "$(body GET '/?show=one')" 'a decoder, 64 tokens × 4 layers, over dispatches waited for one by one'
contains "several texts together" "$(body GET '/?show=decode')" '2 texts, 8 tokens in and 4 out'

sed 's|"model": "the built-in model"|"model": "/home/someone/built.gguf"|; s/"when": "[^"]*"/"when": "2026-02-01T00:00:00Z"/' results/software-2core/web/firefox.llm.json >"$work/mine.json"
"$SOLO" share "$work/mine.json" "$url" >"$work/said" 2>"$work/err2" </dev/null
check "sharing asks" $? 2
contains "and says so" "$(cat "$work/err2")" 'nothing was sent'
contains "it shows what would be sent" "$(cat "$work/said")" '"model":"built.gguf"'
check "without paths" "$(grep -c someone "$work/said")" 0
if ldconfig -p 2>/dev/null | grep -q 'libcurl\(-gnutls\)\?\.so\.4 '; then
    "$SOLO" share results/h200/web/page.dispatch.json "$url/" --yes >"$work/said" 2>"$work/err2"
    check "sharing" $? 0
    contains "it says where the record is" "$(cat "$work/said")" "was there already: $url/records/"
    contains "and where it stands" "$(cat "$work/said")" 'dispatch, smallest kernel, batch (web): '
    contains "among others" "$(cat "$work/said")" 'faster than '
    "$SOLO" share "$work/mine.json" "$url" --yes >"$work/said" 2>&1
    check "what was shown is what is kept" "$(grep '^{' "$work/said" | tr -d '\n' | sha256sum | cut -d ' ' -f 1)" "$(sed -n 's|^sent: .*/records/||p' "$work/said")"
    "$SOLO" share "$record" "$url/nowhere" --yes >/dev/null 2>"$work/err2"
    check "sharing with what is no collector" $? 1
    contains "and why" "$(tail -n 1 "$work/err2")" 'status 405'
else
    echo "skip solo share: libcurl.so.4 is not installed"
fi
contains "what the page sends is taken, and has a standing" "$(node --input-type=module -e '
    const { send, standingText, toSend } = await import(process.cwd() + "/web/share.js"), [url, file] = process.argv.slice(1);
    const record = JSON.parse((await import("node:fs")).readFileSync(file, "utf8"));
    record.params.model = "https://me@home.example/models/built.gguf?key=1";
    const text = toSend(record), { address, standing } = await send(url, text);
    console.log(text.includes("home.example") || JSON.parse(text).params.model, address.startsWith(url), standing.map(standingText).length);' \
    "$url" results/software-2core/web/firefox.llm.json)" 'built.gguf true'
"$SOLO" share "$work/hostile.json.none" "$url" --yes >/dev/null 2>&1
check "sharing what is no record" $? 1
"$SOLO" share "$record" ftp://there --yes >/dev/null 2>&1
check "sharing by other means" $? 2

kill "$collector"
wait "$collector"
check "it ends when told to" $? 0

# ---- limits

start_collector "$work/db.sqlite" --rate 2 --behind-proxy --allow-host stats.example --allow-origin https://page.example
check "so many a minute" "$(for _ in 1 2 3; do status POST /api/records "$record" 'X-Forwarded-For: 9.9.9.9, 1.2.3.4'; done | tr '\n' ' ')" '200 200 429 '
contains "and when to try again" "$(ask POST /api/records "$record" 'X-Forwarded-For: 1.2.3.4')" 'retry-after: '
check "another address is another" "$(status POST /api/records "$record" 'X-Forwarded-For: 1.2.3.5')" 200
check "only the line that the nearest proxy added counts" "$(
    for i in 1 2 3; do
        node -e '
            const [url, file, first] = process.argv.slice(1), headers = { "X-Forwarded-For": [first, "1.2.3.6"] };
            require("http").request(url, { method: "POST", headers }, (reply) => console.log(reply.resume().statusCode)).end(require("fs").readFileSync(file));' \
            "$url/api/records" "$record" "8.8.8.$i"
    done | tr '\n' ' ')" '200 200 429 '
check "an address is one whatever its port" "$(for i in 1 2 3; do status POST /api/records "$record" "X-Forwarded-For: 1.2.3.7:100$i"; done | tr '\n' ' ')" '200 200 429 '
check "also one with colons" "$(for i in 1 2 3; do status POST /api/records "$record" "X-Forwarded-For: [2001:db8::7]:100$i"; done | tr '\n' ' ')" '200 200 429 '
check "asked by its name" "$(status GET /health '' 'Host: stats.example')" 200
check "from a page that may" "$(ask OPTIONS /api/records '' 'Origin: https://page.example' | sed -n '1p; s/^access-control-allow-origin: //p' | tr '\n' ' ')" '204 https://page.example '
kill "$collector"
wait "$collector"

# ---- a file that goes away, exports that are read slowly

start_collector "$work/moving.sqlite" --rate 0
mv "$work/moving.sqlite" "$work/moved.sqlite"
contains "a file that was moved takes no records" "$(ask POST /api/records "$record")" 'the file was moved, replaced or deleted'
cp "$work/moved.sqlite" "$work/moving.sqlite"
check "nor does one that was replaced" "$(status POST /api/records "$record")" 503
mv "$work/moved.sqlite" "$work/moving.sqlite"
check "and when it is back it does" "$(status POST /api/records "$record")" 201
node -e '
    const fs = require("fs"), http = require("http"), net = require("net"), [url, file, pid] = process.argv.slice(1);
    const record = JSON.parse(fs.readFileSync(file)), { hostname, port } = new URL(url);
    record.checks = Array(4000).fill({ what: "x ".repeat(100), ok: true, detail: "y ".repeat(100) });
    const post = (seed) => new Promise((done) => {
        record.clock_ns = seed;
        http.request(`${url}/api/records`, { method: "POST" }, (reply) => reply.resume().on("end", () => done(reply.statusCode))).end(JSON.stringify(record));
    });
    const memory = () => Number(/VmHWM:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`))[1]) / 1024;
    (async () => {
        for (let i = 1; i <= 16; i++) if (await post(i) !== 201) return console.log("not taken");
        const before = memory();
        for (let i = 0; i < 8; i++) net.connect(port, hostname).on("connect", function () { this.pause().write("GET /api/export.ndjson HTTP/1.1\r\nHost: localhost\r\n\r\n"); });
        await new Promise((done) => setTimeout(done, 1500));
        console.log(memory() - before < 100 ? "ok" : `${before} MiB, then ${memory()}`);
        const lines = (await (await fetch(`${url}/api/export.ndjson`)).text()).split("\n");
        console.log(lines.length - 1);
        process.exit();
    })();' "$url" "$record" "$collector" >"$work/slow"
check "exports that are read slowly are not kept whole" "$(sed -n 1p "$work/slow")" ok
check "and one that is read has every record" "$(sed -n 2p "$work/slow")" 17
kill "$collector"
wait "$collector"

"$SOLO" collect --db "$work/none/db" 2>"$work/err2"
check "a database that cannot be" $? 1
contains "and its name" "$(cat "$work/err2")" "$work/none/db"
"$SOLO" collect --db mysql://there 2>/dev/null
check "a database of another kind" $? 1

# ---- killed under load: what was acknowledged is there

said=$(sh bench/collect_kill.sh 3 sqlite 2>&1)
contains "SQLite: killed three times, nothing lost" "$said" ' 0 lost'
check "SQLite: and there was something to lose" "$(echo "$said" | grep -c 'sqlite: 3 kills, [1-9][0-9]* records acknowledged, 0 lost')" 1

why=$(postgres_missing)
if [ -n "$why" ]; then
    echo "skip PostgreSQL: $why"
    exit 0
fi
if ! make_postgres || ! start_postgres; then
    echo "not ok PostgreSQL starts: $(tail -n 2 "$work"/*.log)"
    exit 1
fi
if start_collector "$postgres_url" --rate 0; then
    try_taking PostgreSQL
    "$SOLO" collect import results/h200/sim --db "$postgres_url" >"$work/said" 2>/dev/null
    check "PostgreSQL: import" $? 0
    contains "PostgreSQL: charts" "$(body GET '/?show=sim')" 'loop: rastrigin, 4096 × 1, DIMENSIONS=10'
    kill_postgres
    check "PostgreSQL: without its server" "$(status GET /api/records) $(status POST /api/records "$record")" '503 503'
    start_postgres
    check "PostgreSQL: and with it again" "$(status GET /api/records) $(status POST /api/records "$record")" '200 200'
    kill "$collector"
    wait "$collector"
else
    echo "not ok PostgreSQL: $(cat "$work/err")"
fi
said=$(sh bench/collect_kill.sh 3 postgresql 2>&1)
check "PostgreSQL: both killed three times, nothing lost" "$(echo "$said" | grep -c 'postgresql: 3 kills, [1-9][0-9]* records acknowledged, 0 lost')" 1
