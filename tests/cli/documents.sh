#!/bin/bash
# The manual pages, and completion as bash does it; zsh and fish, where they are.
SOLO=${SOLO:-build/solo}
cd "$(dirname "$0")/../.." || exit 1
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

same() { # NAME GOT RIGHT
    if [ "$2" = "$3" ]; then echo "ok $1"; else echo "not ok $1 ('$2', not '$3')"; fi
}

# ---- manual pages ---------------------------------------------------------------------------------
"$SOLO" man "$work/man"
same "a page for each command" "$(cd "$work/man" && printf '%s ' *)" \
    "$({ echo solo.1; "$SOLO" --help | sed -n 's/^  \([a-z ]*[a-z]\)  .*/\1/p' | sed 's/ /-/; s/^/solo-/; s/$/.1/'; } | sort | tr '\n' ' ')"
if command -v groff >/dev/null; then
    for page in "$work"/man/*.1; do groff -man -ww -Tutf8 "$page" >/dev/null; done 2>"$work/complaints"
    same "groff has nothing to say" "$(head -c 300 "$work/complaints")" ""
    groff -man -Tascii -P-c "$work/man/solo-bench-llm.1" | sed 's/.\x08//g' >"$work/page"
    if grep -q '^ *solo bench llm \[MODEL\] \[--fuse LIST\]' "$work/page" && grep -q '^ *--submit LIST' "$work/page" &&
        grep -q 'wrong usage, *3' "$work/page"; then
        echo "ok a page reads well"
    else
        echo "not ok a page reads well ($(head -c 300 "$work/page"))"
    fi
else
    echo "skip groff has nothing to say (it is not here)"
fi
if command -v mandoc >/dev/null; then
    # without a date the same sources make the same pages
    same "mandoc has nothing to say" "$(mandoc -Tlint -Wwarning "$work"/man/*.1 | grep -v 'missing date' | head -n 3)" ""
else
    echo "skip mandoc has nothing to say (it is not here)"
fi
"$SOLO" man /no/such/folder 2>"$work/err"
same "a folder that cannot be made" "$? $(cat "$work/err")" "1 solo: /no/such/folder: No such file or directory"

# ---- bash -------------------------------------------------------------------------------------------
"$SOLO" completion bash >"$work/solo.bash"
# shellcheck disable=SC1091
. "$work/solo.bash"
same "bash knows the function" "$(complete -p solo)" "complete -F _solo solo"
if command -v shellcheck >/dev/null; then
    same "shellcheck has nothing to say" "$(shellcheck -s bash "$work/solo.bash" | head -n 5)" ""
fi
mkdir "$work/files" "$work/files/folder"
touch "$work/files/model.gguf" "$work/files/a b.gguf"
# completes WORD...: what bash offers where the last word is typed, split as bash splits at =
completes() {
    COMP_WORDS=(solo "$@")
    COMP_CWORD=$#
    (cd "$work/files" && _solo && printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' ' | sed 's/ $//')
}
named() { sed 's/\bauto //'; } # what is chosen by its name
same "commands" "$(completes co)" "collect compare completion convert"
same "a family" "$(completes ben)" "bench"
same "its members" "$(completes bench '')" "--help batch decoder dispatch graph llm sim"
same "help of a command" "$(completes help exp)" "explain"
same "help of a member" "$(completes help bench l)" "llm"
same "no hidden command" "$(completes ma)" ""
same "options" "$(completes run --t)" "--temp --top-k --top-p"
same "options of a member" "$(completes bench llm --su)" "--submit"
same "letters" "$(completes report -o x.html -)" "$(echo "--help --output -h -o")"
same "levels" "$(completes run --fuse '' | named)" "loop none ops token"
same "levels behind an equals sign" "$(completes run --fuse = to)" "token"
same "before its first letter" "$(completes run --fuse = | named)" "loop none ops token"
same "an equals sign that is not split" "$(completes run --fuse=l)" "--fuse=loop"
same "only the levels of a simulation" "$(completes sim pi --fuse '' | named)" "loop none token"
same "submit policies" "$(completes sim pi --submit '' | named)" "batch each pass sync"
same "lists" "$(completes bench llm --fuse none,o)" "none,ops"
same "implementations" "$(completes run --impl w)" "wgpu"
same "adapters" "$(completes info --adapter '')" "any gpu software"
same "simulations" "$(completes sim ac)" "ackley acrobot"
same "simulations behind others" "$(completes bench sim pi,ac)" "pi,ackley pi,acrobot"
same "files" "$(completes run m)" "model.gguf"
same "files with spaces" "$(completes tokenize a)" "a b.gguf"
same "files of an option" "$(completes run --prompt x --file mo)" "model.gguf"
same "a file behind an equals sign" "$(completes run --file = mo)" "model.gguf"
same "folders" "$(completes web --dir '')" "folder"
same "operands by their place" "$(completes synth llama-3-8b q4)" "q4_0 q4_1 q4_k"
same "and the last of them" "$(completes synth llama-3-8b q4_0 mo)" "model.gguf"
same "several files" "$(completes report x.json y.json mo)" "model.gguf"
same "a value is no operand" "$(completes synth --seed 5 gpt)" "gpt-oss-20b"
same "nor is a parameter with an equals sign" "$(completes sim --param A = 1 ac)" "ackley acrobot"
same "nothing in a text" "$(completes run --prompt m)" ""
same "nothing in half a parameter" "$(completes sim pi --param A = m)" ""
refused=
for level in $(completes run --fuse ''); do
    "$SOLO" logits --tokens 1 --fuse="$level" --impl /no/such 2>&1 | grep -q '/no/such' || refused="$refused $level"
done
same "what is offered is taken" "$refused" ""

# ---- other shells ------------------------------------------------------------------------------------
if command -v zsh >/dev/null; then
    same "zsh reads its script" "$("$SOLO" completion zsh >"$work/_solo" && zsh -n "$work/_solo" 2>&1)" ""
else
    echo "skip zsh reads its script (it is not here)"
fi
if command -v fish >/dev/null; then
    "$SOLO" completion fish >"$work/solo.fish"
    offers() { HOME=$work fish --no-config -c "source '$work/solo.fish'; complete -C '$1'" | cut -f 1 | sort | tr '\n' ' '; }
    same "fish completes levels" "$(offers 'solo run --fuse ' | named)" "loop none ops token "
    same "fish completes members" "$(offers 'solo bench ')" "batch decoder dispatch graph llm sim "
else
    echo "skip fish completes levels (it is not here)"
fi
