#!/bin/sh
# solo tokenize as a person types it.
# Prints a line per test: `ok NAME`, `not ok NAME why`, `skip NAME why`.
set -u
solo=${SOLO:-build/solo}
case $solo in /*) ;; *) solo=$PWD/$solo ;; esac
vocab=$PWD/../shared/vocab
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

ok() { echo "ok $1"; }
not_ok() { echo "not ok $1 $2"; }

# expect_failure NAME STATUS WORD : of the last command, with one line on stderr that has WORD
expect_failure() {
    if [ "$status" -ne "$2" ]; then
        not_ok "$1" "exit status $status, not $2"
    elif [ -s out ]; then
        not_ok "$1" "wrote to standard output"
    elif [ "$(wc -l <errors)" -ne 1 ]; then
        not_ok "$1" "$(wc -l <errors) lines of errors"
    elif ! grep -q "$3" errors; then
        not_ok "$1" "says: $(cat errors)"
    else
        ok "$1"
    fi
}

if "$solo" tokenize --help >out 2>errors </dev/null && grep -q '^usage: solo tokenize' out && [ ! -s errors ]; then ok help; else not_ok help "$(cat errors)"; fi

"$solo" tokenize a.gguf b.gguf >out 2>errors </dev/null
status=$?
expect_failure two_models 2 'b.gguf'

"$solo" tokenize --sideways a.gguf >out 2>errors </dev/null
status=$?
expect_failure unknown_option 2 'sideways'

"$solo" tokenize missing.gguf >out 2>errors </dev/null
status=$?
expect_failure missing_file 1 'missing.gguf'

echo 'not a model' >text.gguf
"$solo" tokenize text.gguf >out 2>errors </dev/null
status=$?
expect_failure not_gguf 1 'text.gguf'

# a sound header with nothing in it
printf 'GGUF\003\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000' >empty.gguf
"$solo" tokenize empty.gguf >out 2>errors </dev/null
status=$?
expect_failure no_tokenizer 1 'empty.gguf.*tokenizer.ggml.model'

# expect_ids NAME IDS : what is in `out`
expect_ids() {
    if [ "$status" -ne 0 ]; then
        not_ok "$1" "exit status $status: $(cat errors)"
    elif printf '%s\n' "$2" | cmp -s - out; then
        ok "$1"
    else
        not_ok "$1" "printed '$(cat out)', not '$2'"
    fi
}

if [ -f "$vocab/ggml-vocab-llama-spm.gguf" ]; then
    printf 'Hello world' | "$solo" tokenize "$vocab/ggml-vocab-llama-spm.gguf" >out 2>errors
    status=$?
    expect_ids spm '15043 3186'
    printf 'Hello world' | "$solo" tokenize --bos "$vocab/ggml-vocab-llama-spm.gguf" >out 2>errors
    status=$?
    expect_ids spm_bos '1 15043 3186'
    printf '' | "$solo" tokenize "$vocab/ggml-vocab-llama-spm.gguf" >out 2>errors
    status=$?
    expect_ids nothing ''
    printf '\000\377\n' | "$solo" tokenize "$vocab/ggml-vocab-llama-spm.gguf" >out 2>errors
    status=$?
    expect_ids any_bytes '29871 3 258 13'
else
    for name in spm spm_bos nothing any_bytes; do echo "skip $name no vocabulary here"; done
fi

if [ -f "$vocab/ggml-vocab-gpt-2.gguf" ]; then
    printf 'Hello world' | "$solo" tokenize "$vocab/ggml-vocab-gpt-2.gguf" >out 2>errors
    status=$?
    expect_ids bpe '15496 995'
    printf 'Hello<|endoftext|>\n' | "$solo" tokenize "$vocab/ggml-vocab-gpt-2.gguf" --bos >out 2>errors
    status=$?
    expect_ids bpe_special '50256 15496 50256 198'
else
    for name in bpe bpe_special; do echo "skip $name no vocabulary here"; done
fi

# a text that does not end is read as far as one may be, not on
if command -v python3 >/dev/null; then
    python3 - "$solo" <<'END'
import subprocess, sys
MIB = 1 << 20
solo = subprocess.Popen([sys.argv[1], "tokenize"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
taken = 0
try:
    while taken < 2048:
        solo.stdin.write(b"a" * MIB)
        taken += 1
except BrokenPipeError:
    pass
solo.stdin = None
said = solo.communicate()
right = (taken <= 1026, solo.returncode, said) == (True, 1, (b"", b"solo: standard input: larger than 1 GiB\n"))
print("ok too_long" if right else f"not ok too_long {taken} MiB, {solo.returncode}, {said}")
END
else
    echo "skip too_long (no python3 here)"
fi
