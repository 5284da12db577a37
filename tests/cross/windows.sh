#!/bin/sh
# The program for Windows as a user types it, under wine, beside the one of this system ($SOLO): paths with spaces and letters
# beyond ASCII, lines that end in CR LF, processes, what is refused; and with Xvfb, which wine's Vulkan needs, Dawn: the
# same tokens. Run by `make test-cross`. Prints a line per test: `ok NAME`, `not ok NAME why`, `skip NAME why`.
set -u
cd "$(dirname "$0")/../.." || exit 1
here=${SOLO:-build/solo}
there=build/cross/windows-x64/solo.exe
work=$(mktemp -d) || exit 1
screen=
trap 'rm -rf "$work"; [ -z "$screen" ] || kill "$screen"' EXIT

windows() { "$WINE" "$there" "$@"; }
same() { # NAME FILE FILE
    if [ -s "$2" ] && cmp -s "$2" "$3"; then echo "ok $1"; else echo "not ok $1 ($(head -c 200 "$2"))"; fi
}
refused() { # NAME WORDS COMMAND...: one line on stderr that has the words
    name=$1 words=$2
    shift 2
    if "$@" </dev/null >"$work/out" 2>"$work/err" || [ "$(wc -l <"$work/err")" -ne 1 ] || ! grep -qF -- "$words" "$work/err"; then
        echo "not ok $name ($(head -c 200 "$work/err"))"
    else
        echo "ok $name"
    fi
}

mkdir "$work/ein größerer Ordner"
cp models/builtin.gguf "$work/ein größerer Ordner/модель 1.gguf"
model="$work/ein größerer Ordner/модель 1.gguf"

windows --version >"$work/a" 2>&1
"$here" --version | sed 's/(.*//' >"$work/b"
sed -i 's/(.*//' "$work/a"
same version "$work/a" "$work/b"

windows sim --list >"$work/a" 2>&1
"$here" sim --list >"$work/b"
same list_of_simulations "$work/a" "$work/b"

printf 'Once upon a time, für Größe.\r\n' >"$work/text"
windows tokenize "$model" <"$work/text" >"$work/a" 2>&1
"$here" tokenize "$model" <"$work/text" >"$work/b"
same bytes_are_taken_as_they_are "$work/a" "$work/b"

windows convert tests/data/families/exaone4-full "$work/ein größerer Ordner/копия.gguf" >/dev/null 2>"$work/err"
"$here" convert tests/data/families/exaone4-full "$work/here.gguf" >/dev/null
same a_file_is_written "$work/ein größerer Ordner/копия.gguf" "$work/here.gguf"

windows bench dispatch --quick --impl stub --json "$work/record.json" >"$work/a" 2>&1
if grep -q '"os": "Windows' "$work/record.json" 2>/dev/null; then echo "ok workers_without_fork"; else echo "not ok workers_without_fork ($(head -c 200 "$work/a"))"; fi

refused no_server "no server in the program for this system" windows serve "$model" --impl stub
refused no_page "no server in the program for this system" windows web --dir tests
refused no_collector "no server in the program for this system" windows collect --db "$work/x.db"
refused no_such_file "No such file" windows tokenize "$work/none.gguf"
refused a_folder_is_no_model "there is no tokenizer.json in this folder" windows tokenize tests/cross

if ! command -v Xvfb >/dev/null || ! ls /usr/share/vulkan/icd.d/lvp_icd*.json >/dev/null 2>&1; then
    echo "skip dawn (Xvfb or software Vulkan is not here)"
    exit 0
fi
export DISPLAY=:"$((100 + $$ % 800))"
Xvfb "$DISPLAY" -screen 0 640x480x24 >/dev/null 2>&1 &
screen=$!
sleep 1
VK_ICD_FILENAMES=$(ls /usr/share/vulkan/icd.d/lvp_icd*.json)
export VK_ICD_FILENAMES

"$here" run "$model" -p "Once upon a time" -n 16 --temp 0 --fuse ops >"$work/b" 2>/dev/null
for level in none ops; do
    windows run "$model" -p "Once upon a time" -n 16 --temp 0 --fuse $level --impl dawn >"$work/a" 2>"$work/err"
    same "the_same_tokens_at_$level" "$work/a" "$work/b"
done
printf 'Once upon a time\r\n' >"$work/text"
windows run "$model" -f "$work/text" -n 16 --temp 0 --fuse ops --impl dawn >"$work/a" 2>"$work/err"
same a_line_may_end_in_cr_lf "$work/a" "$work/b"
printf 'Once upon a time\r\n' | windows run "$model" -n 16 --temp 0 --fuse ops --impl dawn >"$work/a" 2>"$work/err"
same also_where_it_is_piped_in "$work/a" "$work/b"
