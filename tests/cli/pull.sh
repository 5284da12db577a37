#!/bin/sh
# Models by name, from a hub on this machine (hub_server.py): what is chosen, resuming, checksums, tokens, hostile servers,
# full disks, two at once, Ctrl-C; the list and removing. Nothing leaves the machine.
SOLO=${SOLO:-build/solo}
cd "$(dirname "$0")/../.." || exit 1
if ! command -v python3 >/dev/null; then
    echo "skip models by name (no python3 here)"
    exit 0
fi
case $SOLO in /*) ;; *) SOLO=$PWD/$SOLO ;; esac
work=$(mktemp -d)
trap 'exec 3>&-; rm -rf "$work"' EXIT
unset HF_TOKEN http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
export no_proxy='*' SOLO_HUB_TIMEOUT=20

# ---- a hub --------------------------------------------------------------------------------------
repos=$work/repos
mkdir -p "$repos/one" "$repos/many/UD" "$repos/odd" "$repos/bin"
cp models/builtin.gguf "$repos/one/story-Q8_0.gguf"
printf 'no model\n' >"$repos/one/README.md"
printf 'hidden\n' >"$repos/one/.gitattributes"
for type in Q2_K Q4_K_M Q4_K_S Q8_0 bf16; do printf 'GGUF%s' $type >"$repos/many/Story.$type.gguf"; done
printf 'GGUFpictures' >"$repos/many/mmproj-Story.Q4_K_M.gguf"
printf 'GGUFother' >"$repos/many/UD/Story-UD-Q4_K_XL.gguf"
for part in 1 2 3; do printf 'GGUFpart%s' $part >"$repos/many/Big-Q6_K-0000$part-of-00003.gguf"; done
printf 'GGUFpart' >"$repos/many/Half-Q5_K_M-00001-of-00002.gguf"
printf 'GGUFodd' >"$repos/odd/a name & more ü.gguf"
printf 'pickle' >"$repos/bin/pytorch_model.bin"
cp -r tests/data/families/llama-yarn "$repos/folder"
printf 'other' >"$repos/folder/consolidated.safetensors"
python3 tests/oracle/make_folder.py mistral "$repos/shards"
printf 'other' >"$repos/shards/consolidated.safetensors"
python3 tests/oracle/make_folder.py llama "$work/llama"
"$SOLO" convert "$work/llama" "$work/llama.gguf" >/dev/null
mkdir "$repos/split"
python3 tests/oracle/split_gguf.py "$work/llama.gguf" "$repos/split/llama" 9

certificate=
if openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
    -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null; then
    certificate="$work/cert.pem $work/key.pem"
fi
mkfifo "$work/alive"
: >"$work/log"
# shellcheck disable=SC2086 # two words, or none
python3 tests/cli/hub_server.py "$repos" "$work/log" "$work/ports" $certificate <"$work/alive" 2>"$work/server" &
hub=$!
exec 3>"$work/alive"
while [ ! -e "$work/ports" ] && kill -0 $hub 2>/dev/null; do sleep 0.1; done
read -r hub_port _ tls_port <"$work/ports" || { echo "not ok the hub of the tests ($(cat "$work/server"))"; exit 1; }
export SOLO_HUB="http://127.0.0.1:$hub_port"
new_cache() { # each test has its own
    number=$((${number:-0} + 1))
    export SOLO_CACHE="$work/cache$number"
    store="$SOLO_CACHE/models/127.0.0.1:$hub_port"
    : >"$work/log"
}
same() { # NAME GOT RIGHT
    if [ "$2" = "$3" ]; then echo "ok $1"; else echo "not ok $1 ('$2', not '$3')"; fi
}
check() {
    what=$1
    shift
    if said=$("$@" 2>&1); then echo "ok $what"; else echo "not ok $what ($(echo "$said" | tail -n 1))"; fi
}
has() { # NAME FILE PART
    if grep -qF -- "$3" "$2"; then echo "ok $1"; else echo "not ok $1 ($(head -c 300 "$2"))"; fi
}
# pulls WHAT NAME: fetched in a new cache, and the path is a file or a folder that is there
pulls() {
    new_cache
    if path=$(timeout 600 "$SOLO" pull "$2" 2>"$work/err") && [ -e "$path" ]; then echo "ok $1"; else echo "not ok $1 ($(cat "$work/err"))"; fi
}
# refuses WHAT PART COMMAND...: status 1 or 2, in the end one line with this part, and no file under its own name
refuses() {
    what=$1 part=$2
    shift 2
    timeout 600 "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    left=$(find "$store" -type f ! -name '.*' 2>/dev/null)
    if { [ $status -eq 1 ] || [ $status -eq 2 ]; } && tail -n 1 "$work/err" | grep -qF -- "$part" && [ "$(wc -l <"$work/err")" -le 2 ] &&
        [ ! -s "$work/out" ] && [ -z "$left" ]; then
        echo "ok $what"
    else
        echo "not ok $what (exit $status, $(head -c 300 "$work/err") $left)"
    fi
}
in_new_cache() {
    new_cache
    refuses "$@"
}

# ---- what is chosen -------------------------------------------------------------------------------
pulls "a repository with one file" plain/one
check "is that file" cmp "$path" models/builtin.gguf
same "under its name" "$path" "$store/plain/one/story-Q8_0.gguf"
same "and nothing else" "$(find "$store" -type f ! -name .lock | wc -l)" 1
has "says what is fetched" "$work/err" "plain/one: story-Q8_0.gguf, 1 file, 3.9 MB; fetching from $SOLO_HUB"
same "once more" "$("$SOLO" pull plain/one 2>"$work/err")" "$path"
has "it is here" "$work/err" "is here"
same "and is not fetched again" "$(grep -c resolve "$work/log")" 1
chosen() { # NAME RIGHT
    pulls "$1" "$1"
    same "$1 is $2" "${path#"$store"/plain/many/}" "$2"
}
chosen plain/many Story.Q4_K_M.gguf
has "says that it was chosen" "$work/err" "chosen among 7 GGUF models"
chosen plain/many:q8_0 Story.Q8_0.gguf
chosen plain/many:BF16 Story.bf16.gguf
chosen plain/many:UD-Q4_K_XL UD/Story-UD-Q4_K_XL.gguf
chosen plain/many:Story.Q2_K.gguf Story.Q2_K.gguf
chosen plain/many:story.q2_k Story.Q2_K.gguf
chosen plain/many:UD/Story-UD-Q4_K_XL.gguf UD/Story-UD-Q4_K_XL.gguf
chosen plain/many:Q6_K Big-Q6_K-00001-of-00003.gguf
same "all parts come" "$(cat "$store"/plain/many/*.gguf)" GGUFpart1GGUFpart2GGUFpart3
chosen plain/many:Big-Q6_K.gguf Big-Q6_K-00001-of-00003.gguf
chosen plain/many:Big-Q6_K-00002-of-00003.gguf Big-Q6_K-00001-of-00003.gguf
in_new_cache "a type that is not there" "no model 'Q3_K_M' in it, but Big-Q6_K-00001-of-00003.gguf, Story.Q2_K.gguf" "$SOLO" pull plain/many:Q3_K_M
in_new_cache "a type that is the beginning of another" "no model 'Q4_K'" "$SOLO" pull plain/many:Q4_K
in_new_cache "parts that are missing" "no model 'Q5_K_M'" "$SOLO" pull plain/many:Q5_K_M
in_new_cache "a repository without a model" "neither a GGUF file nor safetensors" "$SOLO" pull plain/bin
pulls "a name with spaces and more" plain/odd
pulls "a list in several pages" pages/many:Q8_0
pulls "a folder" plain/folder
same "has what belongs to it" "$(cd "$path" && echo *)" "config.json model.safetensors"
pulls "a folder with shards" plain/shards
same "has the shards of its index" "$(cd "$path" && echo *.safetensors)" "model-00001-of-00002.safetensors model-00002-of-00002.safetensors"
same "config.json came last" "$(grep -o 'resolve.* range' "$work/log" | tail -n 1)" "resolve/main/config.json range"

# ---- in place of a path ------------------------------------------------------------------------------
new_cache
text=$("$SOLO" run -n 8 -p "There was once a king")
same "run fetches and runs" "$("$SOLO" run plain/one -n 8 -p "There was once a king" 2>"$work/err")" "$text"
same "with one line about it" "$(wc -l <"$work/err")" 1
: >"$work/log"
same "then it is here" "$("$SOLO" run plain/one -n 8 -p "There was once a king" 2>&1)" "$text"
same "by its type, too" "$("$SOLO" run plain/one:Q8_0 -n 8 -p "There was once a king" 2>&1)" "$text"
same "without a hub" "$(SOLO_HUB='http://127.0.0.1:1' SOLO_CACHE=$SOLO_CACHE sh -c 'mv "$0" "${0%:*}:1"; "$1" run plain/one -n 8 -p "There was once a king"; mv "${0%:*}:1" "$0"' "$store" "$SOLO" 2>&1)" "$text"
same "tokenize" "$(echo king | "$SOLO" tokenize plain/one)" "$(echo king | "$SOLO" tokenize)"
check "explain" "$SOLO" explain plain/one
check "bench llm" "$SOLO" bench llm plain/one --fuse ops --submit batch -p 4 -n 2 -r 1
same "chat" "$(echo | "$SOLO" chat plain/one 2>&1)" "$(echo | "$SOLO" chat models/builtin.gguf 2>&1 | sed "s|models/builtin.gguf|$store/plain/one/story-Q8_0.gguf|")"
check "convert" "$SOLO" convert plain/folder "$work/converted.gguf"
same "logits of a folder" "$("$SOLO" logits plain/folder --tokens 1,2)" "$("$SOLO" logits tests/data/families/llama-yarn --tokens 1,2)"
same "logits of shards" "$("$SOLO" logits plain/shards --tokens 1,2 2>/dev/null)" "$("$SOLO" logits "$repos/shards" --tokens 1,2)"
same "logits of a split file" "$("$SOLO" logits plain/split --tokens 1,2 2>/dev/null)" "$("$SOLO" logits "$work/llama.gguf" --tokens 1,2)"
: >"$work/log"
same "nothing was fetched that was here" "$(cat "$work/log")" ""
mkdir -p "$work/here/plain"
cp models/builtin.gguf "$work/here/plain/one"
new_cache
same "a path that is here wins" "$(cd "$work/here" && "$SOLO" run plain/one -n 8 -p "There was once a king" 2>&1)" "$text"
(cd "$work/here" && refuses "what is rather a path is not fetched" "No such file or directory (if it is a repository: solo pull plain/many)" "$SOLO" run plain/many -p a)
refuses "nor is a file's name" "models/none.gguf: No such file" "$SOLO" run models/none.gguf -p a
refuses "nor an absolute path" "/no/such: No such file" "$SOLO" run /no/such -p a
SOLO_HUB=off refuses "SOLO_HUB=off: a path" "plain/one: No such file" "$SOLO" run plain/one -p a
SOLO_HUB=off refuses "SOLO_HUB=off: pull" "SOLO_HUB is off" "$SOLO" pull plain/one
SOLO_CACHE=off refuses "SOLO_CACHE=off" "SOLO_CACHE is off" "$SOLO" pull plain/one
SOLO_CACHE=off refuses "SOLO_CACHE=off and run" "SOLO_CACHE is off" "$SOLO" run plain/one -p a
same "nobody asked the hub" "$(cat "$work/log")" ""
for name in one /one plain/ ../one plain/one/more plain/..one plain/one:../x 'plain/o ne' plain/one: ''; do
    refuses "'$name' is no name" "is no OWNER/REPO[:FILE]" "$SOLO" pull "$name"
done
SOLO_HUB=ftp://x refuses "a hub that is none" "SOLO_HUB: takes the address" "$SOLO" pull plain/one
HF_TOKEN='a b' refuses "a token that is none" "HF_TOKEN: is no token" "$SOLO" pull plain/one
SOLO_HUB_TIMEOUT=0 refuses "a timeout that is none" "SOLO_HUB_TIMEOUT: takes seconds" "$SOLO" pull plain/one

# ---- connections ---------------------------------------------------------------------------------------
is_whole() { check "$1" cmp "$path" models/builtin.gguf; }
pulls "a connection that is cut again and again" cut/one
is_whole "is resumed"
same "from where it stopped" "$(grep -o 'range=bytes=[0-9]*' "$work/log" | head -n 1)" "range=bytes=1001234"
pulls "a file without a length" nolength/one
is_whole "is complete"
pulls "a server in trouble" trouble/one
is_whole "is asked again"
pulls "a repository that was moved" moved/one
is_whole "is followed"
in_new_cache "a connection that stays dead" "dead/one/resolve/main/story-Q8_0.gguf" "$SOLO" pull dead/one
same "what came stays" "$(find "$store" -name '.*.part' -size +1000k | wc -l)" 1
mkdir -p "$store/plain"
mv "$store/dead/one" "$store/plain/one"
: >"$work/log"
path=$("$SOLO" pull plain/one 2>/dev/null)
is_whole "and the next pull resumes it"
same "from there" "$(grep -o 'range=bytes=[0-9]*' "$work/log")" "range=bytes=1500000"
same "the part is gone" "$(find "$store" -name '*.part')" ""
in_new_cache "a server that cuts and knows no ranges" "story-Q8_0.gguf" "$SOLO" pull norange/one
SOLO_HUB_TIMEOUT=1 in_new_cache "a server that stalls" "does not answer" "$SOLO" pull stall/one
SOLO_HUB_TIMEOUT=1 in_new_cache "a hub that stalls" "does not answer" "$SOLO" pull silent/one
in_new_cache "a server that sends another part" "another part of the file" "$SOLO" pull shifted/one
SOLO_HUB=http://127.0.0.1:1 in_new_cache "no hub at all" "http://127.0.0.1:1/api/models/plain/one" "$SOLO" pull plain/one

# a part that is longer than the file, and one with other contents
for kind in long other; do
    pulls "before a $kind part" plain/one
    part=$(dirname "$path")/.story-Q8_0.gguf.$(sha256sum <models/builtin.gguf | cut -c 1-16).part
    rm "$path"
    if [ $kind = long ]; then cat models/builtin.gguf models/builtin.gguf >"$part"; else head -c 100000 /dev/zero >"$part"; fi
    if [ $kind = long ]; then
        "$SOLO" pull plain/one >/dev/null 2>&1
    else
        refuses "a part with other contents" "its checksum is another" "$SOLO" pull plain/one
        "$SOLO" pull plain/one >/dev/null 2>&1
    fi
    is_whole "a $kind part is replaced"
done

# a file that has changed, here or there
pulls "before a change" plain/one
printf x | dd of="$path" bs=1 seek=1000000 conv=notrunc 2>/dev/null
"$SOLO" pull plain/one >/dev/null 2>&1
is_whole "a file that was changed here is fetched anew"

# ---- answers that are wrong -------------------------------------------------------------------------------
in_new_cache "another checksum" "is not what the hub lists (its checksum is another) and was removed" "$SOLO" pull wrong/one
same "of which nothing stays" "$(find "$store" -name '*.part')" ""
in_new_cache "other contents" "its checksum is another" "$SOLO" pull othersum/one
in_new_cache "more than was promised" "the hub lists 3914040 bytes, and the server has at least 3915040" "$SOLO" pull more/one
in_new_cache "less than was promised" "the hub lists 3916040 bytes, and the server has 3915040" "$SOLO" pull less/one
in_new_cache "more than the disk has" "are needed, and" "$SOLO" pull huge/one
in_new_cache "a page instead of a file" "sends a web page instead" "$SOLO" pull html/one
in_new_cache "a page instead of a list" "is no list of files" "$SOLO" pull page/one
in_new_cache "no checksum" "no checksum for" "$SOLO" pull nosum/one
in_new_cache "no such repository" "plain/none: the hub has no such thing" "$SOLO" pull plain/none
in_new_cache "a file that is gone" "story-Q8_0.gguf: the hub has no such thing" "$SOLO" pull gone/one
in_new_cache "asked too often" "asked too often" "$SOLO" pull busy/one
in_new_cache "redirects in a circle" "redirects too often" "$SOLO" pull circle/one
in_new_cache "a redirect to a file" "refused" "$SOLO" pull local/one
in_new_cache "a redirect with a password" "redirects too often" "$SOLO" pull password/one
same "which is not shown" "$(grep -c secret "$work/err")" 0
in_new_cache "a redirect with control characters" "127.0.0.1" "$SOLO" pull escape/one
same "which no terminal gets" "$(tr -d '[:print:]\n' <"$work/err" | wc -c)" 0
in_new_cache "a list without an end" "too long" "$SOLO" pull endless/one
in_new_cache "a list that continues elsewhere" "continues at another host" "$SOLO" pull elsewhere/one
for name in climb absolute inside control newline long deep backslash empty nul; do
    in_new_cache "a hostile name ($name)" "list of files" "$SOLO" pull hostile-$name/one
done
same "nothing escaped" "$(find "$work" /tmp -maxdepth 4 -name 'escaped.gguf' 2>/dev/null)" ""

# ---- tokens ---------------------------------------------------------------------------------------------------
in_new_cache "a private repository" "wants a token (HF_TOKEN=...)" "$SOLO" pull private/one
HF_TOKEN=hf_wrong in_new_cache "with a wrong token" "does not accept the token" "$SOLO" pull private/one
in_new_cache "one with terms" "terms to be accepted" "$SOLO" pull gated/one
export HF_TOKEN=hf_right
pulls "with the right token" private/one
pulls "a redirect to another host" redirect/one
is_whole "is followed there"
same "with the token for the hub" "$(grep '^hub' "$work/log" | grep -c 'token=Bearer hf_right')" 2
same "and none for the other" "$(grep '^other' "$work/log" | sed 's/.*token=/token=/')" "token=-"
unset HF_TOKEN

# ---- HTTPS ----------------------------------------------------------------------------------------------------
if [ -n "$tls_port" ]; then
    export SOLO_HUB="https://127.0.0.1:$tls_port"
    in_new_cache "a certificate that nobody vouches for" "certificate" "$SOLO" pull plain/one
    same "nothing was asked for" "$(cat "$work/log")" ""
    export SSL_CERT_FILE="$work/cert.pem"
    pulls "one that somebody does" plain/one
    is_whole "over HTTPS"
    in_new_cache "a redirect from HTTPS to HTTP" "redirects to an address that is refused" "$SOLO" pull redirect/one
    same "is not followed" "$(grep -c '^other' "$work/log")" 0
    SOLO_HUB="https://localhost:$tls_port" in_new_cache "a certificate for another host" "https://localhost" "$SOLO" pull plain/one
    SSL_CERT_FILE="$work/none" in_new_cache "certificates that are not there" "https://" "$SOLO" pull plain/one
    unset SSL_CERT_FILE
    export SOLO_HUB="http://127.0.0.1:$hub_port"
else
    echo "skip HTTPS (no openssl to make a certificate)"
fi

# ---- without libcurl --------------------------------------------------------------------------------------------
cat >"$work/hide.sh" <<'EOF'
for library in $(ldconfig -p | sed -n 's/.*libcurl.*=> //p'); do mount --bind /dev/null "$(readlink -f "$library")" || exit 9; done
exec "$@"
EOF
new_cache
if unshare -m sh "$work/hide.sh" true 2>/dev/null; then
    refuses "without libcurl" "libcurl.so.4, which fetches files, is not on this machine" unshare -m sh "$work/hide.sh" "$SOLO" pull plain/one
    same "all else runs without it" "$(unshare -m sh "$work/hide.sh" "$SOLO" run -n 8 -p "There was once a king")" "$text"
else
    echo "skip without libcurl (it cannot be hidden here)"
fi

# ---- disks ----------------------------------------------------------------------------------------------------
new_cache
(
    trap '' XFSZ
    ulimit -f 2000 # blocks of 512 bytes
    refuses "a disk that is full in the middle" "the part that arrived is kept" "$SOLO" pull plain/one
)
same "what came before stays" "$(find "$store" -name '.*.part' -size +900k | wc -l)" 1
path=$("$SOLO" pull plain/one 2>/dev/null)
is_whole "and is resumed"
same "by a range" "$(grep -c 'range=bytes=1024000-' "$work/log")" 1
new_cache
mkdir -p "$SOLO_CACHE"
if mount -t tmpfs -o size=2m none "$SOLO_CACHE" 2>/dev/null; then
    refuses "a disk that is too small" "3.9 MB are needed, and" "$SOLO" pull plain/one
    umount "$SOLO_CACHE"
else
    echo "skip a disk that is too small (no tmpfs can be mounted here)"
fi
new_cache
: >"$SOLO_CACHE"
refuses "a cache that is a file" "Not a directory" "$SOLO" pull plain/one

# ---- several at once, Ctrl-C, the list ------------------------------------------------------------------------------
new_cache
for i in 1 2 3; do
    "$SOLO" pull slow/one >"$work/out$i" 2>"$work/err$i" &
    eval "pid$i=\$!"
done
failed=0
# shellcheck disable=SC2154 # set by eval
for pid in "$pid1" "$pid2" "$pid3"; do wait "$pid" || failed=$((failed + 1)); done
same "three at once" "$failed" 0
path=$(cat "$work/out1")
is_whole "make one file"
same "that was fetched once" "$(grep -c resolve "$work/log")" 1
same "two of them waited" "$(cat "$work"/err[123] | grep -c 'is being fetched by another process')" 2

new_cache
if python3 -c 'import pty' 2>/dev/null; then
    python3 tests/cli/pull_terminal.py "$SOLO" slow/one
    path=$("$SOLO" pull slow/one 2>/dev/null)
    is_whole "what Ctrl-C left is resumed"
    same "from there, not from the beginning" "$(grep resolve "$work/log" | tail -n 1 | grep -c 'range=bytes=[1-9]')" 1
else
    echo "skip pull on a terminal (no python3 with pty)"
fi

# libcurl cannot be asked to stop while a name is looked up
faults=$(dirname "$SOLO")/tests/faults/fail_calls.so
if [ -e "$faults" ]; then
    new_cache
    ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1}:verify_asan_link_order=0" python3 - "$SOLO" "$faults" >"$work/out" 2>"$work/err" <<'EOF'
import os, signal, subprocess, sys, time
solo = subprocess.Popen([sys.argv[1], "pull", "plain/one"], preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                        env={**os.environ, "SOLO_HUB": "http://hub.example", "LD_PRELOAD": sys.argv[2], "FAULT_LOOKUP_S": "60"})
time.sleep(3)
began = time.monotonic()
solo.send_signal(signal.SIGINT)
print(solo.wait(), "soon" if time.monotonic() - began < 20 else "late")
EOF
    same "Ctrl-C while a name is looked up" "$(cat "$work/out" "$work/err")" "-2 soon
solo: stopped; run the same command to resume"
else
    echo "skip Ctrl-C while a name is looked up (it needs Linux)"
fi

new_cache
has "an empty list" /dev/stdin "no model was fetched yet" <<EOF
$("$SOLO" models)
EOF
"$SOLO" pull plain/one >/dev/null 2>&1
"$SOLO" pull plain/many:Q6_K >/dev/null 2>&1
"$SOLO" pull plain/many:Q2_K >/dev/null 2>&1
"$SOLO" pull plain/shards >/dev/null 2>&1
"$SOLO" pull dead/one >/dev/null 2>&1
"$SOLO" models >"$work/list"
same "all are listed" "$(sed 's/  .*//' "$work/list" | tr '\n' ' ' | sed 's/ [0-9.]* MB in .*//')" \
    "name dead/one plain/many:Big-Q6_K-00001-of-00003.gguf plain/many:Story.Q2_K.gguf plain/one:story-Q8_0.gguf plain/shards:safetensors"
has "with sizes" "$work/list" "3.9 MB"
has "and what is unfinished" "$work/list" "unfinished"
"$SOLO" models --json >"$work/list.json"
check "as JSON" python3 - "$work/list.json" <<'EOF'
import json, os, sys
models = {m["name"]: m for m in json.load(open(sys.argv[1]))["models"]}
assert len(models) == 5, models
one = models["plain/one:story-Q8_0.gguf"]
assert one["bytes"] == 3915040 and one["files"] == 1 and one["complete"] and os.path.exists(one["path"]), one
assert models["plain/many:Big-Q6_K-00001-of-00003.gguf"]["files"] == 3
assert not models["dead/one"]["complete"] and models["dead/one"]["bytes"] == 1500000, models["dead/one"]
assert one["pulled"][:2] == "20" and one["used"] >= one["pulled"]
EOF
same "a name from the list is a name" "$("$SOLO" pull plain/shards:safetensors 2>/dev/null)" "$store/plain/shards"
same "one is removed" "$("$SOLO" models remove plain/many:Q6_K)" "removed plain/many:Big-Q6_K-00001-of-00003.gguf, 27 bytes"
same "the other stays" "$(cd "$store/plain/many" && echo *)" Story.Q2_K.gguf
same "several are removed" "$("$SOLO" models remove plain/many plain/shards dead/one | grep -c '^removed')" 3
same "with their folders" "$(cd "$store" && find . | sort | tr '\n' ' ')" ". ./plain ./plain/one ./plain/one/.lock ./plain/one/story-Q8_0.gguf "
same "what is not among them" "$("$SOLO" models remove plain/one:Q9 2>&1)" "solo: plain/one:Q9: there is no model 'Q9' in it, but story-Q8_0.gguf"
"$SOLO" models remove plain/one:story-Q8_0.gguf >/dev/null
same "and the last with all of them" "$(ls -A "$SOLO_CACHE/models")" ""
refuses "what is not here" "plain/one: is not here" "$SOLO" models remove plain/one
refuses "remove without a name" "needs the NAME" "$SOLO" models remove
refuses "a path out of the cache" "is no OWNER/REPO" "$SOLO" models remove ../../x
