#!/bin/sh
# The scripts of bench/, as far as they go without PyTorch and a GPU.
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

said() { # NAME STATUS: ok if the status is 0
    if [ "$2" -eq 0 ]; then echo "ok $1"; else echo "not ok $1"; fi
}

python3 - bench/*.py <<'END'
import sys
for path in sys.argv[1:]:
    compile(open(path).read(), path, "exec")
END
said "the scripts are Python" $?

bench/llm.sh -o "$work/out" -w "$work/work" nonsense >/dev/null 2>"$work/error"
[ $? -eq 2 ] && grep -q 'there is no part nonsense' "$work/error"
said "llm.sh refuses a part that it does not have" $?

# A stand-in for Python that fails: the other parts run all the same, and the status tells.
printf '#!/bin/sh\necho "no such thing" >&2\nexit 3\n' >"$work/python"
chmod +x "$work/python"
PYTHON=$work/python SOLO=true bench/llm.sh -o "$work/out" -w "$work/work" -m tiny -t f16 torch solo >"$work/said" 2>&1
[ $? -eq 1 ] && grep -q 'torch: failed with status 3' "$work/said" && grep -q 'no such thing' "$work/said" && grep -q 'solo: [0-9]* s' "$work/said"
said "llm.sh goes on after a failure and tells it" $?

cat >"$work/make.py" <<'END'
import sys
sys.path.insert(0, "bench")
import record
r = record.result("tg128", {"impl": "torch", "variant": "eager"}, "tok/s", [41.0, 40.0, 42.0, 39.5, 44.0])
assert (r["n"], r["median"], r["min"]) == (5, 41.0, 39.5) and r["ci95"][0] <= 41.0 <= r["ci95"][1], r
record.write(sys.argv[1], record.record("llm", {"impl": "torch"}, {"model": "m"}, [r], [record.check("tokens", True, "all")]))
END
python3 -B "$work/make.py" "$work/a.json" && "$SOLO" compare "$work/a.json" "$work/a.json" >"$work/said" && grep -q 'tg128' "$work/said"
said "solo reads the records that the scripts write" $?

if python3 -c 'import numpy' 2>/dev/null; then
    model=tests/data/models/llama-wide
    python3 -B bench/check_logits.py $model --solo "$SOLO" --json "$work/logits.json" && grep -q '5 of 5 positions' "$work/logits.json"
    said "logits are held against transformers'" $?
    cp -r $model "$work/wrong"
    sed -i 's/"prompt": \[[0-9]*,/"prompt": [3,/' "$work/wrong/golden.json"
    ! python3 -B bench/check_logits.py "$work/wrong" --solo "$SOLO" --json "$work/logits.json"
    said "wrong logits are seen" $?
else
    echo "skip logits are held against transformers' (no numpy)"
fi
