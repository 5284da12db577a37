#!/bin/sh
# tests/run.sh PROGRAM... : runs test programs, one line each, and ends in
#
#     N passed, N failed[, N skipped]
#
# PROGRAM is a cmocka program (its single tests are counted), or a script named
# *.sh that prints a line `ok NAME`, `not ok NAME`, or `skip NAME` per test.
# A program that crashes, exits non-zero without saying which test failed, runs
# past TEST_LIMIT_S seconds, or runs no test at all counts as one more failure. The limit is there for programs
# that hang: the longest takes minutes, and several times that beside other work.
# As many run at a time as there are processors, up to TEST_JOBS; lines come as they
# end. Those with a line `runs alone` in their source run one at a time when all others have ended:
# their workgroups wait for each other, and a program beside them makes each wait a time slice; or they take
# gigabytes. Run it from the root of the repository; scripts find the binary in $SOLO.
# What programs keep between runs goes into a folder that is thrown away.
set -u

limit_s=${TEST_LIMIT_S:-3600}
processors=$(nproc 2>/dev/null || echo 1)
jobs=${TEST_JOBS:-4}
[ "$jobs" -le "$processors" ] || jobs=$processors
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# `timeout` has a process group of its own, so that it must be ended by its number
# shellcheck disable=SC2046 # a list of numbers
trap 'trap "" INT TERM; kill $(cat "$work"/*.pid 2>/dev/null) 2>/dev/null; kill 0; exit 130' INT TERM
export SOLO_CACHE="$work/cache"
# names of repositories are fetched by those tests alone that have a hub of their own
export SOLO_HUB=off

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
    program=$1 out=$work/$2.out
    result=$work/$2
    name=${program#*tests/}
    case $program in
        *.sh) if [ -x "$program" ]; then set -- "$program"; else set -- sh "$program"; fi ;;
        */*) set -- "$program" ;;
        *) set -- "./$program" ;;
    esac
    started=$(date +%s%N)
    CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 10 "$limit_s" "$@" >"$out" 2>&1 </dev/null &
    echo $! >"$result.pid"
    wait $!
    status=$?
    rm -f "$result.pid"
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
    {
        printf '%s  %-32s %4d.%d s  %s%s\n' "$verdict" "$name" $((tenths / 10)) $((tenths % 10)) \
            "$counts" "${trouble:+ ($trouble)}"
        if [ "$failed" -gt 0 ]; then
            # all that is not a test that went well; the end of it, where it is long
            awk '!/^ok / && !/^1\.\.[0-9]/' "$out" | tail -n 200 | sed 's/^/      | /'
        elif [ "$skipped" -gt 0 ]; then
            awk 'tolower($0) ~ /^(not )?ok .*# *skip/ || /^skip( |$)/' "$out" | sed 's/^/      | /'
        fi
    } >"$result.text"
    cat "$result.text" # whole, so that lines of two programs do not mix
    echo "$passed $failed $skipped" >"$result.counts"
}

# A worker takes the next program that nobody has taken: whoever makes its folder has it.
worker() {
    number=0
    for program in "$@"; do
        number=$((number + 1))
        mkdir "$work/$number" 2>/dev/null && run_one "$program" "$number"
    done
}

# Is what this program is made of marked so? A script is its own source, a program's lies below tests/.
runs_alone() {
    case $1 in
        *.sh) source=$1 ;;
        *) source=tests/${1#*tests/}.c ;;
    esac
    grep -qs '^[/#* ]*runs alone' "$source"
}

# Marks them as taken, so that no worker takes them: they are for the end.
last='' number=0
for program in "$@"; do
    number=$((number + 1))
    runs_alone "$program" && mkdir "$work/$number" && last="$last $number"
done

workers=
while [ "$jobs" -gt 0 ]; do
    worker "$@" &
    workers="$workers $!"
    jobs=$((jobs - 1))
done
# shellcheck disable=SC2086 # a list of numbers
wait $workers

number=0
for program in "$@"; do
    number=$((number + 1))
    case "$last " in *" $number "*) run_one "$program" "$number" ;; esac
done

total_passed=0 total_failed=0 total_skipped=0 number=0
for program in "$@"; do
    number=$((number + 1))
    if ! read -r passed failed skipped 2>/dev/null <"$work/$number.counts"; then
        echo "FAIL  $program was not finished"
        passed=0 failed=1 skipped=0
    fi
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
    total_skipped=$((total_skipped + skipped))
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
