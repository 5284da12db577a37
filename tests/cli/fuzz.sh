#!/bin/sh
# tools/fuzz.mjs: takes turns, keeps count, fails where a target does. The targets are scripts that print what libFuzzer
# prints.
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir -p build/fuzz/objects tests/fuzz/corpus/good tests/fuzz/corpus/bad docs
touch tests/fuzz/fuzz_good.c tests/fuzz/fuzz_bad.c
printf '0123456789' >tests/fuzz/corpus/good/seed
head -c 5000 /dev/zero >tests/fuzz/corpus/bad/long
printf 'before\n<!-- counts tests/fuzz/counts.json -->\n<!-- end -->\nafter\n' >docs/reliability.md
cat >build/fuzz/objects/fuzz_good <<'END'
#!/bin/sh
echo "good $*" >>arguments
printf '#2\tINITED cov: 100 ft: 5\n#900\tNEW    cov: 140 ft: 9\nstat::number_of_executed_units: 1234567\n' >&2
END
cat >build/fuzz/objects/fuzz_bad <<'END'
#!/bin/sh
echo "bad $*" >>arguments
printf '#2\tINITED cov: 7 ft: 5\nfuzz_bad: it does not hold\n==1== ERROR: libFuzzer: deadly signal\nTest unit written to build/fuzz/crashes/bad-crash-1\n#33\tDONE\n' >&2
exit 77
END
chmod +x build/fuzz/objects/fuzz_*

check() { # NAME: did the command before it end well?
    if [ $? -eq 0 ]; then echo "ok $1"; else echo "not ok $1"; fi
}
node "$root/tools/fuzz.mjs" --seconds 1 --jobs 1 --write >out 2>err
[ $? -eq 1 ]; check "a target that fails makes the exit status 1"
grep -q 'the input: build/fuzz/crashes/bad-crash-1' err && grep -q 'it does not hold' err
check "its input and its reason are named"
grep -qF '| `good` | 1,234,567 |' docs/reliability.md && grep -qF '100 → 140 | 1, 1 KiB | 0 |' docs/reliability.md
check "executions, edges and the corpus are in the table"
grep -qF '| `bad` | 33 |' docs/reliability.md && grep -qF '7 → 7 | 1, 5 KiB | 1 |' docs/reliability.md
check "a crash is counted"
grep -q '^good .*-max_len=4096 ' arguments && grep -q '^bad .*-max_len=5000 ' arguments
check "no input of the repository is cut off"
node "$root/tools/fuzz.mjs" --seconds 1 --jobs 2 --targets good --write >/dev/null 2>&1 &&
    grep -qF '| `good` | 2,469,134 |' docs/reliability.md && grep -q '^after$' docs/reliability.md
check "the next run adds to the counts"
node "$root/tools/fuzz.mjs" --check
check "what was written is current"
sed -i 's/2,469,134/1/' docs/reliability.md
! node "$root/tools/fuzz.mjs" --check 2>err && grep -q 'tools/fuzz.mjs --write' err
check "a table that is not current is found"
node "$root/tools/fuzz.mjs" --hours 0.0008 --jobs 1 --targets good >out 2>&1 && [ "$(grep -c '^good:' out)" -ge 1 ]
check "hours are those of all targets together"
node "$root/tools/fuzz.mjs" --seconds 1 --targets none >/dev/null 2>&1
[ $? -eq 2 ]; check "a target that is not there is refused"
