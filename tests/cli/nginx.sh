#!/bin/sh
# The configurations for nginx in docs/serve.md and docs/collect.md, as they stand there but for addresses and keys: with
# TLS, and several servers behind it.
cd "$(dirname "$0")/../.." || exit 1
PATH=$PATH:/usr/sbin
for needed in nginx openssl curl; do
    command -v $needed >/dev/null || { echo "skip $needed is not installed"; exit 0; }
done
: "${SOLO:=build/solo}"
work=$(mktemp -d) || exit 1
chmod 755 "$work" # nginx's workers are somebody else
started=
trap 'kill $started 2>/dev/null; wait; rm -rf "$work"' EXIT

said() { # NAME STATUS: ok if the status is 0
    if [ "$2" -eq 0 ]; then echo "ok $1"; else echo "not ok $1"; fi
}

# start NAME COMMAND...: a server; its port is in $port
start() {
    name=$1
    shift
    "$SOLO" "$@" --port 0 >"$work/$name.out" 2>"$work/$name.log" &
    started="$started $!"
    tries=0
    while [ ! -s "$work/$name.out" ] && [ $tries -lt 600 ]; do sleep 0.1 && tries=$((tries + 1)); done
    port=$(sed -n 's|.*:\([0-9]*\)/$|\1|p' "$work/$name.out")
}

# start_nginx DOCUMENT HOST PORT PORT: its configuration in front of two servers on these ports; sets `front`
start_nginx() {
    front=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
    {
        echo "error_log $work/nginx.log; pid $work/nginx.pid; events {} http { access_log off;"
        for kind in client_body proxy fastcgi uwsgi scgi; do echo "${kind}_temp_path $work/$kind;"; done
        sed -n '/^upstream solo {/,/^```/p' "$1" | sed '/^```/d' | sed -E "s/listen 443/listen 127.0.0.1:$front/; s|/etc/ssl/$2|$work/site|" |
            awk -v one="$3" -v two="$4" '/^ *server [0-9]/ { sub(/[0-9.]+:[0-9]+/, "127.0.0.1:" (n++ ? two : one)) } 1'
        echo "}"
    } >"$work/nginx.conf"
    nginx -c "$work/nginx.conf" -g 'daemon off;' >"$work/nginx.out" 2>&1 &
    nginx=$!
    started="$started $nginx"
    tries=0
    until ask "$2" /health -o "$work/health" || [ $tries -ge 100 ]; do
        kill -0 $nginx 2>/dev/null || { cat "$work/nginx.out" >&2; return 1; }
        sleep 0.1 && tries=$((tries + 1))
    done
}

# ask HOST PATH [OPTION...]: through nginx
ask() {
    host=$1 path=$2
    shift 2
    curl -sf --cacert "$work/site.pem" --resolve "$host:$front:127.0.0.1" "https://$host:$front$path" "$@"
}

for host in models stats; do
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$host.example.org" -addext "subjectAltName=DNS:$host.example.org" \
        -keyout "$work/$host.key" -out "$work/$host.pem" 2>/dev/null
done

# ---- serve
cp "$work/models.key" "$work/site.key" && cp "$work/models.pem" "$work/site.pem"
start one serve --fuse ops -c 128
first=$port
start two serve --fuse ops -c 128
start_nginx docs/serve.md models.example.org "$first" "$port"
said "nginx takes the configuration of docs/serve.md" $?
request='{"prompt": "Once", "max_tokens": 40, "stream": true, "ignore_eos": true, "temperature": 0}'
clients=
for i in 1 2 3 4; do
    ask models.example.org /v1/completions -N -H 'Content-Type: application/json' -d "$request" >"$work/stream.$i" &
    clients="$clients $!"
done
# shellcheck disable=SC2086 # a list of numbers
wait $clients
[ "$(grep -l 'data: \[DONE\]' "$work"/stream.? | wc -l)" -eq 4 ]
said "four streams through it are complete" $?
grep -q completions "$work/one.log" && grep -q completions "$work/two.log"
said "both servers had some of them" $?
ask models.example.org /v1/models -o "$work/models.json" && grep -q '"object": *"list"' "$work/models.json"
said "the model is listed" $?
kill $nginx && wait $nginx 2>/dev/null

# ---- collect
cp "$work/stats.key" "$work/site.key" && cp "$work/stats.pem" "$work/site.pem"
for name in a b; do
    start $name collect --db "$work/db.sqlite" --behind-proxy --allow-host stats.example.org --rate 1
    eval "$name=\$port"
done
# shellcheck disable=SC2154 # set by eval
start_nginx docs/collect.md stats.example.org "$a" "$b"
said "nginx takes the configuration of docs/collect.md" $?
for i in 1 2 3; do
    ask stats.example.org /api/records -o "$work/reply" -w '%{http_code}\n' -H 'Content-Type: application/json' -H "X-Forwarded-For: 10.1.1.$i" \
        --data-binary @results/h200/sim/builtin-pi.json
done >"$work/codes" 2>&1
# the first collector has one, the other one is told that it is there already, and both know by now who asks
[ "$(tr '\n' ' ' <"$work/codes")" = "201 200 429 " ]
said "a record through it, and a limit that an address of one's own invention does not lift" $?
ask stats.example.org / -o "$work/page" && grep -q '<svg' "$work/page"
said "the leaderboard through it" $?
