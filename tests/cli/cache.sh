#!/bin/sh
# solo run with what earlier runs kept: whole, cut, changed, of no use, switched off. The text is always the same.
SOLO=${SOLO:-build/solo}
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

generate() { # FILE: the text, with anything that was said besides
    "$SOLO" run -p "Once upon a time" -n 12 --impl dawn >"$work/$1" 2>&1
}
same() { # NAME FILE
    if [ -s "$work/off" ] && cmp -s "$work/off" "$work/$2"; then echo "ok $1"; else
        echo "not ok $1: $(head -c 300 "$work/$2")"
    fi
}
blobs() { find "$1/blobs" -type f 2>/dev/null | sort; }

# where it would be kept if it were not switched off
mkdir "$work/home"
HOME="$work/home" XDG_CACHE_HOME="$work/home" SOLO_CACHE=off generate off
[ ! -e "$work/home/solo" ] && echo "ok SOLO_CACHE=off keeps nothing" || echo "not ok SOLO_CACHE=off keeps nothing"
HOME="$work/home" XDG_CACHE_HOME="$work/home" SOLO_CACHE="" generate at_home
same "the user's cache folder" at_home
[ -n "$(blobs "$work/home/solo")" ] && echo "ok pipelines are kept there" || echo "not ok pipelines are kept there"

export SOLO_CACHE="$work/cache"
generate first
same "the first run" first
[ -n "$(blobs "$SOLO_CACHE")" ] && echo "ok pipelines are kept" || echo "not ok pipelines are kept"
blobs "$SOLO_CACHE" | xargs cksum >"$work/kept"
generate second
same "the second run" second
blobs "$SOLO_CACHE" | xargs cksum | cmp -s - "$work/kept" && echo "ok the second run keeps the same" ||
    echo "not ok the second run keeps the same"

# NAME: with damaged files the text stays, and the files are right again
repaired() {
    name=$1
    generate damaged
    same "$name" damaged
    if blobs "$SOLO_CACHE" | xargs cksum | cmp -s - "$work/kept"; then echo "ok $name: replaced"; else
        echo "not ok $name: replaced"
    fi
}
for file in $(blobs "$SOLO_CACHE"); do truncate -s $(($(wc -c <"$file") / 2)) "$file"; done
repaired "files cut in half"
for file in $(blobs "$SOLO_CACHE"); do : >"$file"; done
repaired "empty files"
for file in $(blobs "$SOLO_CACHE"); do
    printf '\377\000\377' | dd of="$file" bs=1 seek=$(($(wc -c <"$file") - 9)) conv=notrunc 2>/dev/null
done
repaired "files with other bytes"
for file in $(blobs "$SOLO_CACHE"); do cp /bin/sh "$file"; done
repaired "files of something else"

# the first text waits for a token's kernels only, if the prompt is short: they are all that is kept
kept_by() { # PROMPT: its tokens, and which files
    rm -rf "$SOLO_CACHE"
    "$SOLO" run -p "$1" -n 2 --impl dawn >/dev/null 2>&1
    echo "$(printf '%s' "$1" | "$SOLO" tokenize --bos | wc -w) tokens $(blobs "$SOLO_CACHE" | sed 's/.*blobs//' | cksum)"
}
king="Once upon a time there was a king who had a son and he was"
short=$(kept_by Once) sixteen=$(kept_by "$king") longer=$(kept_by "$king the")
case "$short, $sixteen, $longer" in
"2 tokens"*", 16 tokens"*", 17 tokens"*) echo "ok prompts of 2, 16 and 17 tokens" ;;
*) echo "not ok prompts of 2, 16 and 17 tokens ($short, $sixteen, $longer)" ;;
esac
[ "${short#* tokens}" = "${sixteen#* tokens}" ] && echo "ok a prompt of 16 tokens needs no other kernels than a token" ||
    echo "not ok a prompt of 16 tokens needs no other kernels than a token ($short, $sixteen)"
[ "${sixteen#* tokens}" != "${longer#* tokens}" ] && echo "ok one of 17 does" || echo "not ok one of 17 does ($longer)"

: >"$work/file"
SOLO_CACHE="$work/file" generate nowhere
same "a cache that cannot be" nowhere
