#!/bin/sh
# tests/run.sh PROGRAM... : runs test programs, one line each, and ends in
#
#     N passed, N failed[, N skipped]
#
# PROGRAM is a cmocka program (its single tests are counted), or a script named
# *.sh that prints a line `ok NAME`, `not ok NAME`, or `skip NAME` per test.
# A program that crashes, exits non-zero without saying which test failed, runs
# past TEST_LIMIT_S seconds, or runs no test at all counts as one more failure.
# Run it from the root of the repository; scripts find the binary in $SOLO.
set -u

limit_s=${TEST_LIMIT_S:-300}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

total_passed=0 total_failed=0 total_skipped=0

# Reads TAP, or a script's lines. Prints: passed failed skipped announced
count_tests() {
    awk '
        /^1\.\.[0-9]+/                              { announced += substr($0, 4); next }
        /^(not )?ok .*# *[Ss][Kk][Ii][Pp]/ || /^skip( |$)/ { skipped++; next }
        /^not ok( |$)/                              { failed++; next }
        /^ok( |$)/                                  { passed++ }
        END { print passed + 0, failed + 0, skipped + 0, announced + 0 }' "$1"
}

run_one() {
    program=$1 out=$work/out
    name=${program#*tests/}
    case $program in
        *.sh) if [ -x "$program" ]; then set -- "$program"; else set -- sh "$program"; fi ;;
        */*) set -- "$program" ;;
        *) set -- "./$program" ;;
    esac
    started=$(date +%s%N)
    CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 10 "$limit_s" "$@" >"$out" 2>&1 </dev/null
    status=$?
    tenths=$((($(date +%s%N) - started) / 100000000))

    read -r passed failed skipped announced <<EOF
$(count_tests "$out")
EOF
    reported=$((passed + failed + skipped))
    trouble=
    if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
        trouble="stopped after $limit_s s"
    elif [ "$status" -gt 128 ]; then
        trouble="killed by signal $((status - 128))"
    elif [ "$status" -ne 0 ] && [ "$failed" -eq 0 ]; then
        trouble="exit status $status"
    elif [ "$reported" -eq 0 ]; then
        trouble="ran no test"
    elif [ "$reported" -lt "$announced" ]; then
        trouble="ran $reported of $announced tests"
    fi
    [ -z "$trouble" ] || failed=$((failed + 1))

    verdict=pass
    [ "$passed" -gt 0 ] || verdict=skip
    [ "$failed" -eq 0 ] || verdict=FAIL
    counts="$passed passed"
    [ "$failed" -eq 0 ] || counts="$counts, $failed failed"
    [ "$skipped" -eq 0 ] || counts="$counts, $skipped skipped"
    printf '%s  %-32s %4d.%d s  %s%s\n' "$verdict" "$name" $((tenths / 10)) $((tenths % 10)) \
        "$counts" "${trouble:+ ($trouble)}"
    if [ "$failed" -gt 0 ]; then
        # all that is not a test that went well; the end of it, where it is long
        awk '!/^ok / && !/^1\.\.[0-9]/' "$out" | tail -n 200 | sed 's/^/      | /'
    elif [ "$skipped" -gt 0 ]; then
        awk 'tolower($0) ~ /^(not )?ok .*# *skip/ || /^skip( |$)/' "$out" | sed 's/^/      | /'
    fi

    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
    total_skipped=$((total_skipped + skipped))
}

for program in "$@"; do
    run_one "$program"
done

result=0
[ "$total_failed" -eq 0 ] || result=1
if [ $((total_passed + total_failed)) -eq 0 ]; then
    echo "no test was run"
    result=1
fi
summary="$total_passed passed, $total_failed failed"
[ "$total_skipped" -eq 0 ] || summary="$summary, $total_skipped skipped"
echo "$summary"
exit "$result"
