#!/bin/sh
# solo explain: as text, as JSON, as a picture; with times, and where there is no GPU.
SOLO=${SOLO:-build/solo}
cd "$(dirname "$0")/../.." || exit 1
model=tests/data/models/qwen2-old
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

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

"$SOLO" explain $model --bandwidth 1000 >"$work/text" 2>"$work/err"
ok "it explains" grep -q "norm + q, k, v + bias + rope (q, k) + into the cache (k, v)" "$work/text"
"$SOLO" explain tests/data/models/llama-linear --bandwidth 1000 >"$work/two"
ok "equal layers are shown once" sh -c "[ \$(grep -c 'down + residual' '$work/two') -eq 1 ] && grep -q '2 x |' '$work/two'"
ok "100 columns are enough" awk 'length > 100 { print; wide = 1 } END { exit wide }' "$work/text"
ok "nothing but that is said" [ ! -s "$work/err" ]
"$SOLO" explain --kernel op_rmsnorm >"$work/kernel"
ok "a kernel is printed expanded" sh -c "grep -q '^fn body(' '$work/kernel' && ! grep -q '//!' '$work/kernel'"
"$SOLO" explain --kernel matmul_vec --type q4_0 >"$work/kernel"
ok "for a weight type" grep -q "^fn fetch(" "$work/kernel"
fails "an unknown kernel" 1 "there are attention_plain, attention_rows" "$SOLO" explain --kernel nothing
fails "a kernel without its weight type" 1 "needs a weight type" "$SOLO" explain --kernel matmul_vec
fails "a weight type without a kernel" 2 "--type goes with --kernel" "$SOLO" explain --type q4_0
"$SOLO" explain $model --bandwidth 1000 --fuse none >"$work/none"
ok "level none has no passes" sh -c "! grep -q siblings '$work/none'"

VK_ICD_FILENAMES=/none VK_DRIVER_FILES=/none "$SOLO" explain $model >"$work/bare" 2>"$work/err"
ok "without a GPU it says so" grep -q "no GPU here" "$work/bare"
fails "times without a GPU" 3 "no usable GPU" \
    env VK_ICD_FILENAMES=/none VK_DRIVER_FILES=/none "$SOLO" explain $model --time

# The JSON's sums, and its fields; the same plan that is run.
cat >"$work/check.py" <<'PY'
import json, sys
plan = json.load(open(sys.argv[1]))
steps, totals = plan["steps"], plan["totals"]
assert plan["operators"] - sum(p["removed"] for p in plan["passes"]) == len(steps) == totals["steps"]
assert sum(len(s["nodes"]) for s in steps) >= plan["operators"]
for field in "dispatches weight_bytes state_bytes activation_bytes flops".split():
    assert sum(s[field] for s in steps) == totals[field], field
for s in steps:
    moved = s["weight_bytes"] + s["state_bytes"] + s["activation_bytes"]
    rate = plan["gbps"] * 1e3
    assert abs(s["limit_us"] - max(moved / rate, s["flops"] / rate / 16)) <= 1e-6 * s["limit_us"], s
    assert s["bound_by"] == ("operations" if s["flops"] > 16 * moved else "bytes")
if len(sys.argv) > 2:
    assert all(s["time_us"] > 0 for s in steps) and totals["time_us"] > 0
PY
for rows in 1 8; do
    "$SOLO" explain $model --bandwidth 1000 --rows $rows --depth 20 --json >"$work/plan.json"
    ok "JSON adds up with $rows rows" python3 "$work/check.py" "$work/plan.json"
    "$SOLO" explain $model --bandwidth 1000 --rows $rows --depth 20 --context 64 --json --time --impl dawn >"$work/timed.json"
    ok "and with times" python3 "$work/check.py" "$work/timed.json" timed
done

ok "it draws" "$SOLO" explain $model --bandwidth 1000 --svg "$work/plan.svg"
ok "the picture is XML" python3 -c "import sys, xml.dom.minidom as x
t = x.parse(sys.argv[1]).toxml(); assert 'prefers-color-scheme' in t and 'norm + q, k, v' in t and 'ribbon' in t" "$work/plan.svg"
"$SOLO" explain $model --bandwidth 1000 --svg - >"$work/stdout.svg"
ok "the picture on standard output, alone" cmp "$work/plan.svg" "$work/stdout.svg"

fails "rows that do not fit" 2 "do not fit a context of 16" "$SOLO" explain $model --rows 8 --depth 12 --context 16
fails "a bandwidth that is none" 2 "--bandwidth" "$SOLO" explain $model --bandwidth fast
fails "two things on standard output" 2 "both go to standard output" "$SOLO" explain $model --svg - --json
fails "a picture that cannot be written" 1 "/no/such" "$SOLO" explain $model --svg /no/such/place.svg
fails "a missing file" 1 "/no/such.gguf" "$SOLO" explain /no/such.gguf
"$SOLO" explain --help | grep -q "usage: solo explain" && echo "ok help of explain" || echo "not ok help of explain"

# what README and docs say of Qwen2.5-0.5B is what explain counts for a GPU, which it does where it opens no device
"$SOLO" synth qwen2.5-0.5b q4_0 "$work/qwen.gguf" >/dev/null 2>&1
count() { "$SOLO" explain "$work/qwen.gguf" --fuse "$1" --bandwidth 1000 | sed -n 's/^THE PLAN at [a-z]*: \([0-9]*\) steps, \([0-9]*\) .*/\1 \2/p'; }
none=$(count none) ops=$(count ops)
ok "the README's dispatches of a token" grep -qF "from ${none#* } dispatches per token (${none% *} operators) to ${ops#* } on a GPU" README.md
node tools/web_reference.mjs "$work/reference.json"
ok "the page's dispatches of a token" node -e 'const { none, ops } = JSON.parse(require("fs").readFileSync(process.argv[1])).llm[0].dispatches;
    process.exit([none, ops].map((n) => n.toFixed(0)).join() === process.argv[2] ? 0 : 1)' "$work/reference.json" "${none#* },${ops#* }"
ok "the phases that docs/megakernel.md names" grep -qF "${ops#* } dispatches per token become ${ops#* } phases" docs/megakernel.md
