#!/bin/sh
# The options of every command as a user types them: help, mistakes, and where `solo run` takes its text from.
SOLO=${SOLO:-build/solo}
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

same() { # NAME GOT RIGHT
    if [ "$2" = "$3" ]; then echo "ok $1"; else echo "not ok $1 ('$2', not '$3')"; fi
}
# fails NAME PART COMMAND...: wrong usage, with one line that has this in it
fails() {
    name=$1 part=$2
    shift 2
    "$@" >"$work/out" 2>"$work/err" </dev/null
    got=$?
    if [ $got -eq 2 ] && grep -qF -- "$part" "$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ] && [ ! -s "$work/out" ]; then
        echo "ok $name"
    else
        echo "not ok $name (exit $got, $(head -c 200 "$work/err"))"
    fi
}

# ---- help ------------------------------------------------------------------------------------
commands=$("$SOLO" --help | LC_ALL=C sed -n 's/^  \([a-z ]*[a-z]\)  .*/\1/p')
same "all commands are listed" "$(echo "$commands" | wc -l)" 26
echo "$commands" | while read -r command; do
    # shellcheck disable=SC2086 # two words are two
    if "$SOLO" $command --help >"$work/help" 2>"$work/err" && [ ! -s "$work/err" ] && grep -q "^usage: solo $command" "$work/help" && grep -q -- '--help' "$work/help" &&
        "$SOLO" help $command | cmp -s - "$work/help" && "$SOLO" $command -h | cmp -s - "$work/help" &&
        ! grep -q '.\{101\}' "$work/help"; then
        echo "ok help of $command"
    else
        echo "not ok help of $command"
    fi
    # shellcheck disable=SC2086
    fails "an unknown option of $command" "unknown option '--nonsense' (solo $command --help)" "$SOLO" $command --nonsense
    # every option of the help that takes a value misses it
    LC_ALL=C sed -n 's/^  \(-., \|    \)\{0,1\}\(--*[a-z0-9-]*\) [A-Z].*/\2/p' "$work/help" | while read -r option; do
        # shellcheck disable=SC2086
        fails "$option of $command without its value" "$option needs a value" "$SOLO" $command $option
    done
done
same "help of a family" "$("$SOLO" bench --help | grep -c '^  bench ')" 6
fails "an unknown command" "unknown command 'rnu'; did you mean run? (solo --help)" "$SOLO" rnu
fails "an unknown command like no other" "unknown command 'dance' (solo --help)" "$SOLO" dance
fails "help of an unknown command" "unknown command 'chta'; did you mean chat?" "$SOLO" help chta
fails "a family alone" "dispatch, llm, batch, decoder, sim or graph" "$SOLO" bench

# ---- values -----------------------------------------------------------------------------------
fails "an option that is nearly there" "unknown option '--tmp'; did you mean --temp?" "$SOLO" run -p x --tmp 1
fails "a number out of range" "--top-p takes a number from 0 to 1, not '1.5'" "$SOLO" run -p x --top-p=1.5
fails "a number that is none" "-n takes a whole number from 1 to 1000000, not 'many'" "$SOLO" run -p x -n many
fails "a number after a blank" "-n takes a whole number from 1 to 1000000, not ' 8'" "$SOLO" run -p x -n ' 8'
fails "a hexadecimal number" "--temp takes a number from 0 to" "$SOLO" run -p x --temp 0x1p0
fails "a number that is infinite" "--temp takes a number from 0 to" "$SOLO" run -p x --temp nan
fails "a file without a name" "--session takes a text that is not empty" "$SOLO" run -p x -n 1 --session ''
fails "a model without a name" "MODEL takes a text that is not empty" "$SOLO" explain ''
fails "a name that is none" "none, ops, token or loop, not 'all'" "$SOLO" logits --tokens 1 --fuse=all
fails "a list with a name that is none" "--submit takes sync, each, pass or batch, separated by commas, not 'sync,one'" \
    "$SOLO" bench llm --submit sync,one
fails "a value for what takes none" "--quick takes no value" "$SOLO" bench dispatch --quick=yes
# shellcheck disable=SC2046 # many words
fails "an option too many" "can be given 64 times" "$SOLO" sim pi $(yes -- '--param A=1' | head -n 65)
same "--name value is --name=value" "$("$SOLO" sim pi --pop 16 --steps 8 --seed 3 -o -)" "$("$SOLO" sim pi --pop=16 --steps=8 --seed=3 --output=-)"
same "and not the default" "$("$SOLO" sim pi --pop=16 --steps=8 -o - | cmp -s - /dev/null || echo differs)" differs
same "an earlier name is the same option" "$("$SOLO" sim pi --pop=16 --steps=8 --patience 9 -o - | wc -l)" 17
same "words behind -- are no options" "$("$SOLO" compare -- --a.json b.json 2>&1)" "solo: --a.json: No such file or directory"

# ---- what would not be heard ------------------------------------------------------------------------
for word in "" "a b" http://a models.example.org/ "[::1" a:b; do
    fails "serve --allow-host '$word'" "--allow-host takes a name" timeout 20 "$SOLO" serve --port 0 --allow-host "$word"
done
for word in "" x https://example.org/ https:// "https://a b" ://a; do
    fails "serve --allow-origin '$word'" "--allow-origin takes an origin" timeout 20 "$SOLO" serve --port 0 --allow-origin "$word"
    fails "collect --allow-origin '$word'" "--allow-origin takes an origin" timeout 20 "$SOLO" collect --db "$work/db" --port 0 --allow-origin "$word"
done
for words in "--lora x" --check-tensors --wait "--chunk 5" "-n 3" --slide "--stop x" "-c 8" "--cache-type f16" "--temp 1" "--top-p 0.5"; do
    # shellcheck disable=SC2086 # two words are two
    fails "run PROGRAM.pt2 $words" "of models that make texts" "$SOLO" run tests/data/torch/convnet.pt2 $words
done

# ---- the text of run -----------------------------------------------------------------------------
run() { "$SOLO" run -n 6 "$@" 2>&1; }
text="There was once a king"
printf '%s\n' "$text" >"$work/text"
printf '%s' "$text" >"$work/bare"
right=$(run -p "$text")
case $right in
"$text "*) echo "ok run continues a text" ;;
*) echo "not ok run continues a text ($right)" ;;
esac
same "from --prompt=" "$(run --prompt="$text")" "$right"
same "from a file" "$(run -f "$work/text")" "$right"
same "from a file without an end of line" "$(run --file "$work/bare")" "$right"
same "from standard input" "$(run <"$work/text")" "$right"
same "from a pipe" "$(echo "$text" | run)" "$right"
same "from standard input by name" "$(echo "$text" | run -f -)" "$right"
same "from a pipe by name" "$(mkfifo "$work/pipe" && { cat "$work/text" >"$work/pipe" & run -f "$work/pipe"; })" "$right"
same "standard input is left alone where there is a text" "$(echo nonsense | run -p "$text")" "$right"
printf 'one\n\ntwo\n' >"$work/lines"
same "lines stay lines" "$(run -f "$work/lines" | head -n 2)" "$(printf 'one\n\n')"
fails "nothing on standard input" "a text (-p), a file (-f) or standard input is needed" "$SOLO" run
fails "two texts" "-p and -f" "$SOLO" run -p a -f "$work/text"
"$SOLO" run -f "$work/missing" >"$work/out" 2>"$work/err"
same "a file that is not there" "$? $(cat "$work/err")" "1 solo: $work/missing: No such file or directory"
"$SOLO" run -p "$text" -n 4 >"$work/out" 2>"$work/err"
same "in a pipe it says nothing but the text" "$(cat "$work/err")" ""

if python3 -c 'import pty' 2>/dev/null && python3 -c 'import os; os.waitstatus_to_exitcode' 2>/dev/null; then
    python3 tests/cli/run_terminal.py "$SOLO"
else
    echo "skip run on a terminal (no python3 with pty)"
fi
