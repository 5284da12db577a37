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

# programs made here: what is odd in names, in integers, in what is constant
python3 -W ignore - "$work" <<'EOF'
import json, sys, zipfile

def tensor(name):
    return {"as_tensor": {"name": name}}

def program(file, inputs, nodes, output, shapes):
    described = {name: {"dtype": kind, "sizes": [{"as_int": d} for d in dims],
                        "strides": [{"as_int": dims[1] if len(dims) == 2 and d == 0 else 1} for d in range(len(dims))],
                        "storage_offset": {"as_int": 0}} for name, (kind, dims) in shapes.items()}
    graph = {"inputs": [tensor(n) for n in inputs], "outputs": [tensor(output)], "tensor_values": described, "nodes": [
        {"target": "torch.ops.aten." + op, "inputs": [{"name": k, "arg": v} for k, v in arguments], "outputs": [tensor(out)],
         "metadata": {}, "name": out} for op, arguments, out in nodes]}
    signature = {"input_specs": [{"user_input": {"arg": tensor(n)}} for n in inputs],
                 "output_specs": [{"user_output": {"arg": tensor(output)}}]}
    model = {"graph_module": {"graph": graph, "signature": signature}, "schema_version": {"major": 8, "minor": 20}}
    with zipfile.ZipFile(sys.argv[1] + "/" + file, "w") as z:
        z.writestr("p/models/model.json", json.dumps(model))
        z.writestr("p/data/weights/model_weights_config.json", '{"config": {}}')
        z.writestr("p/data/constants/model_constants_config.json", '{"config": {}}')

name = 'a"\n\x1b[31m'
program("names.pt2", ["i"], [("add.Tensor", [("self", tensor("i")), ("other", tensor("i"))], name)], name,
        {"i": (5, [2]), name: (5, [2])})
size, nodes, shapes = 1000, [], {"x": (7, [1]), "y": (7, [1]), "sum": (7, [])}
for n in range(4):
    nodes.append(("full.default", [("size", {"as_ints": [size, size]}), ("fill_value", {"as_float": 1})], "c0") if n == 0 else
                 ("mm.default", [("self", tensor(f"c{n - 1}")), ("mat2", tensor("c0"))], f"c{n}"))
    shapes[f"c{n}"] = (7, [size, size])
nodes += [("sum.default", [("self", tensor("c3"))], "sum"), ("add.Tensor", [("self", tensor("x")), ("other", tensor("sum"))], "y")]
program("large.pt2", ["x"], nodes, "y", shapes)
program("log.pt2", ["x"], [("exp.default", [("self", tensor("x"))], "y")], "y", {"x": (7, [2]), "y": (7, [2])})
json.dump([1, 1000], open(sys.argv[1] + "/log.json", "w"))
with zipfile.ZipFile(sys.argv[1] + "/twice.pt2", "w") as z, zipfile.ZipFile(sys.argv[1] + "/log.pt2") as one:
    for name in one.namelist() + ["p/models/model.json"]:
        z.writestr(name, one.read(name))
EOF
echo '[1073741823, -3]' >"$work/i.json"
"$SOLO" run "$work/names.pt2" --input "$work/i.json" >"$work/names.json" 2>"$work/err"
ok "names are quoted, integers have all their digits" python3 -c "
import json; assert json.load(open('$work/names.json')) == {'a\"\\n\\x1b[31m': {'shape': [2], 'data': [2147483646, -6]}}"
ok "no name controls a terminal" sh -c "! grep -q '$(printf '\033')' '$work/names.json'"
fails "nor is it a file's" 1 "cannot be a file's name" "$SOLO" run "$work/names.pt2" --out "$work/made"
for number in 2147483648 1099511627776 -2147483649 1.5 1e30; do
    echo "[0, $number]" >"$work/i.json"
    fails "no integer of 32 bits: $number" 1 "i takes whole numbers from -2147483648 to 2147483647" "$SOLO" run "$work/names.pt2" --input "$work/i.json"
done
head -c 1500 "$work/x.npy" >"$work/cut.npy"
fails "a NumPy file that is cut" 1 "cut.npy: it is cut" "$SOLO" run $data/convnet.pt2 --input "$work/cut.npy"
fails "a file that is there twice" 1 "it has two files models/model.json" "$SOLO" explain "$work/twice.pt2"
fails "numbers that JSON has not" 1 "element 1 of the output y is inf, which JSON cannot say: --out FOLDER" "$SOLO" run "$work/log.pt2" --input "$work/log.json"
ok "but .npy files" "$SOLO" run "$work/log.pt2" --input "$work/log.json" --out "$work/made"
ok "as they are" python3 -c "
import struct; assert struct.unpack('<2f', open('$work/made/y.npy', 'rb').read()[128:])[1] == float('inf')"
fails "constants that take too long" 1 "is too much to compute here" timeout 60 "$SOLO" explain "$work/large.pt2" --impl stub --bandwidth 1

fails "an input of another shape" 1 "x has 486 elements, not 1" sh -c "echo 3 >'$work/one'; '$SOLO' run $data/convnet.pt2 --input '$work/one'"
for lists in '[[[[1,2]]]]' "[$(printf '[1%.0s,' 1)2]]" '[1,[2]]'; do
    echo "$lists" >"$work/lists.json"
    fails "lists of another shape: $lists" 1 "x has the shape 2x3x9x9, and these lists have another" "$SOLO" run $data/convnet.pt2 --input "$work/lists.json"
done
python3 -c 'import json, sys
x = json.load(open(sys.argv[1] + "/x.json"))
rows = [x[i : i + 9] for i in range(0, 486, 9)]
planes = [rows[i : i + 9] for i in range(0, 54, 9)]
json.dump([planes[:3], planes[3:]], open(sys.argv[1] + "/nested.json", "w"))
json.dump([planes], open(sys.argv[1] + "/other.json", "w"))
json.dump([1e300] + x[1:], open(sys.argv[1] + "/large.json", "w"))
npy = open(sys.argv[1] + "/x.npy", "rb").read()
twice = npy[10:128].strip().replace(b"}", b"\x27descr\x27: \x27<i4\x27, }").ljust(117) + b"\n"
open(sys.argv[1] + "/twice.npy", "wb").write(npy[:10] + twice + npy[128:])' "$work"
"$SOLO" run $data/convnet.pt2 --input "$work/nested.json" >"$work/nested.out" && "$SOLO" run $data/convnet.pt2 --input "$work/x.json" >"$work/flat.out"
ok "lists of this shape are as one list" cmp "$work/nested.out" "$work/flat.out"
fails "as many numbers in lists of another shape" 1 "these lists have another" "$SOLO" run $data/convnet.pt2 --input "$work/other.json"
fails "a number beyond floats" 1 "x takes numbers up to 3.40282e+38, not 1e+300" "$SOLO" run $data/convnet.pt2 --input "$work/large.json"
fails "a type that is there twice" 1 "its elements must be" "$SOLO" run $data/convnet.pt2 --input "$work/twice.npy"
fails "an input that is none" 2 "none of the program's inputs, which are: x" "$SOLO" run $data/convnet.pt2 --input "z=$work/x.npy"
fails "a text for a program" 2 "with --input" "$SOLO" run $data/convnet.pt2 -p hello
fails "--input for a language model" 2 "go with a .pt2 file" "$SOLO" run -p hello --input "$work/x.npy"
head -c 9000 $data/convnet.pt2 >"$work/cut.pt2"
fails "a file that is cut" 1 "cut.pt2: it is no .pt2 archive, or it is cut" "$SOLO" explain "$work/cut.pt2"
sed 's/torch.ops.aten.avg_pool2d.default/torch.ops.aten.any_pool2d.default/' $data/convnet.pt2 >"$work/other.pt2"
fails "an operator that is not supported" 1 "node avg_pool2d (torch.ops.aten.any_pool2d.default), torch_fixtures.py:" \
    "$SOLO" run "$work/other.pt2"
fails "no file" 1 "none.pt2" "$SOLO" bench graph "$work/none.pt2"
