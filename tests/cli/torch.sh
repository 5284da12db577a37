#!/bin/sh
# Programs of PyTorch as a user runs them: explain, run, bench graph; inputs and outputs as files; what is wrong.
SOLO=${SOLO:-build/solo}
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
data=tests/data/torch

ok() { # NAME COMMAND...
    name=$1
    shift
    if "$@" >"$work/why" 2>&1; then echo "ok $name"; else echo "not ok $name ($(head -c 300 "$work/why"))"; fi
}
fails() { # NAME STATUS PART COMMAND...
    name=$1 status=$2 part=$3
    shift 3
    "$@" >"$work/out" 2>"$work/err"
    got=$?
    if [ $got -eq "$status" ] && grep -qF -- "$part" "$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ]; then
        echo "ok $name"
    else
        echo "not ok $name (exit $got, $(head -c 200 "$work/err"))"
    fi
}

"$SOLO" explain $data/convnet.pt2 --bandwidth 1000 >"$work/text" 2>"$work/err"
ok "a convolution, its norm and function are one step" grep -q "first + (\*) + bias + relu" "$work/text"
ok "it says what the program is" grep -q "PyTorch, 15 ATen nodes" "$work/text"

python3 - "$work" <<'EOF'
import json, struct, sys
run = json.load(open("tests/data/torch/convnet.json"))["runs"][0]
json.dump(run["inputs"]["x"], open(sys.argv[1] + "/x.json", "w"))
text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 9, 9), }".ljust(117) + "\n"
with open(sys.argv[1] + "/x.npy", "wb") as f:
    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
    f.write(struct.pack("<486f", *run["inputs"]["x"]))
EOF
cat >"$work/compare.py" <<'EOF'
import json, sys
want = json.load(open("tests/data/torch/convnet.json"))["runs"][0]["outputs"]
got = json.load(open(sys.argv[1]))
assert set(want) == set(got), set(got)
for name, values in want.items():
    worst = max(abs(a - b) for a, b in zip(values, got[name]["data"]))
    assert len(values) == len(got[name]["data"]) and worst < 1e-4, (name, worst)
EOF
"$SOLO" run $data/convnet.pt2 --fuse ops --input "$work/x.json" >"$work/json.out" 2>"$work/err"
ok "inputs as JSON" python3 "$work/compare.py" "$work/json.out"
"$SOLO" run $data/convnet.pt2 --fuse ops --input "x=$work/x.npy" >"$work/npy.out" 2>>"$work/err"
ok "inputs as NumPy files" cmp "$work/json.out" "$work/npy.out"
mkdir "$work/made"
"$SOLO" run $data/convnet.pt2 --fuse ops --input "$work/x.npy" --out "$work/made" 2>>"$work/err"
ok "outputs as NumPy files" sh -c "head -c 60 '$work/made/linear.npy' | grep -aq \"NUMPY.*'descr': '<f4'\""
"$SOLO" run $data/convnet.pt2 --fuse ops --seed 5 >"$work/a"
"$SOLO" run $data/convnet.pt2 --fuse ops --seed 5 >"$work/b"
"$SOLO" run $data/convnet.pt2 --fuse ops --seed 6 >"$work/c"
ok "random inputs by a seed" sh -c "cmp '$work/a' '$work/b' && ! cmp -s '$work/a' '$work/c'"

ok "bench graph" "$SOLO" bench graph $data/cache.pt2 --fuse none,ops -r 2 -n 3 --json "$work/record.json"
ok "its record" python3 -c "
import json; r = json.load(open('$work/record.json'))
assert r['experiment'] == 'graph' and len(r['results']) == 2 and all(c['ok'] for c in r['checks'])"
ok "its report" "$SOLO" report "$work/record.json" -o "$work/report.html"

fails "an input of another shape" 1 "x has 486 elements, not 1" sh -c "echo 3 >'$work/one'; '$SOLO' run $data/convnet.pt2 --input '$work/one'"
fails "an input that is none" 2 "none of the program's inputs, which are: x" "$SOLO" run $data/convnet.pt2 --input "z=$work/x.npy"
fails "a text for a program" 2 "with --input" "$SOLO" run $data/convnet.pt2 -p hello
fails "--input for a language model" 2 "go with a .pt2 file" "$SOLO" run -p hello --input "$work/x.npy"
head -c 9000 $data/convnet.pt2 >"$work/cut.pt2"
fails "a file that is cut" 1 "cut.pt2: it is no .pt2 archive, or it is cut" "$SOLO" explain "$work/cut.pt2"
sed 's/torch.ops.aten.avg_pool2d.default/torch.ops.aten.any_pool2d.default/' $data/convnet.pt2 >"$work/other.pt2"
fails "an operator that is not supported" 1 "node avg_pool2d (torch.ops.aten.any_pool2d.default), torch_fixtures.py:" \
    "$SOLO" run "$work/other.pt2"
fails "no file" 1 "none.pt2" "$SOLO" bench graph "$work/none.pt2"
