#!/bin/sh
# The scripts of bench/, as far as they go without PyTorch and a GPU.
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

said() { # NAME STATUS: ok if the status is 0
    if [ "$2" -eq 0 ]; then echo "ok $1"; else echo "not ok $1"; fi
}

python3 -B - bench/*.py <<'END'
import sys
for path in sys.argv[1:]:
    compile(open(path).read(), path, "exec")
END
said "the scripts are Python" $?

bench/llm.sh -o "$work/out" -w "$work/work" nonsense >/dev/null 2>"$work/error"
[ $? -eq 2 ] && grep -q 'there is no part nonsense' "$work/error"
said "llm.sh refuses a part that it does not have" $?

bench/llm.sh -o "$work/out" -w "$work/work" -m tiny >/dev/null 2>"$work/error"
[ $? -eq 2 ] && grep -q 'tiny is not NAME-TYPE' "$work/error"
said "llm.sh wants a type with each model" $?

# A stand-in for Solo that prints its arguments.
printf '#!/bin/sh\necho "$@" >>"%s/asked"\n' "$work" >"$work/solo"
chmod +x "$work/solo"
SOLO=$work/solo bench/llm.sh -o "$work/out" -w "$work/work" -m "qwen2.5-0.5b-f16 llama-3-8b-q4_0" -d 64 -r 3 solo >/dev/null
grep -q 'qwen2.5-0.5b-f16 --fuse none,ops,token,loop --submit sync,each,pass,batch -p 512 -n 128 -d 64 -r 3' "$work/asked" &&
    grep -q 'llama-3-8b-q4_0.gguf --fuse ops,token,loop --submit batch -p 512 -n 128 -d 64 -r 3' "$work/asked"
said "llm.sh asks for every way to launch one model, and for the best ways of others" $?

# one.sh: a run for every point, a failure reported, none made twice
rm -f "$work/asked"
cat >"$work/solo" <<'SOLO'
#!/bin/sh
echo "${SOLO_ONE_GROUPS:-free} $*" >>"$(dirname "$0")/asked"
case $* in *"-d 7 "*) echo "no such depth" >&2; exit 1 ;; esac
while [ "$1" != --json ]; do shift; done
echo '{}' >"$2"
SOLO
sweep() { SOLO=$work/solo DEPTH=5 bench/one.sh -o "$work/one" -w "$work/work" -M builtin -m "builtin llama-3-8b-q4_0" -d "0 7" -g "2 free" -n 8 "$@" >"$work/said" 2>&1; }
: >"$work/work/llama-3-8b-q4_0.gguf"
sweep
[ $? -eq 1 ] && grep -q 'depth-7: failed with status 1 after [0-9]* s: no such depth' "$work/said" && [ ! -e "$work/one/depth-7.json" ]
said "one.sh goes on after a failure and tells it" $?
[ "$(ls "$work/one")" = "$(printf 'depth-0.json\ngroups-2.json\ngroups-free.json\nsize-builtin.json\nsize-llama-3-8b-q4_0.json')" ] &&
    grep -q '^free bench llm --fuse ops,loop --submit batch -p 0 -n 8 -d 0 -r 3' "$work/asked" &&
    grep -q '^2 bench llm --fuse ops,loop --submit batch -p 0 -n 8 -d 5 ' "$work/asked" &&
    grep -q '^free bench llm .*llama-3-8b-q4_0.gguf --fuse ops,loop' "$work/asked"
said "one.sh makes a record of every point" $?
[ "$(grep -c -- '-d 5 ' "$work/asked")" -eq 3 ] && grep -q 'size-builtin: as groups-free' "$work/said"
said "one.sh runs once what two sweeps share" $?
rm -f "$work/asked"
sweep groups size && [ ! -e "$work/asked" ]
said "one.sh does not run again what is there" $?
bench/one.sh -o "$work/one" -w "$work/work" nonsense >/dev/null 2>"$work/error"
[ $? -eq 2 ] && grep -q 'there is no sweep nonsense' "$work/error"
said "one.sh refuses a sweep that it does not have" $?

# pieces, as bench/pack.sh makes them and bench/packed.sh takes them
mkdir "$work/whole" "$work/pieces" && head -c 2500000 /dev/urandom >"$work/whole/data"
pieces() { bash -c '. bench/packing.inc; out=$1 most_mib=1; shift; "$@"' pieces.sh "$work/pieces" "$@"; }
pieces put "$work/whole" some >/dev/null && [ -e "$work/pieces/some.002" ] &&
    pieces take "$work/pieces" some "$work/joined" && cmp -s "$work/whole/data" "$work/joined/data"
said "what was put into pieces is put together again" $?
rm "$work/joined/data" && pieces take "$work/pieces" some "$work/joined" && [ ! -e "$work/joined/data" ]
said "what is there already is not unpacked again" $?
mv "$work/pieces/some.001" "$work/piece" && ! pieces take "$work/pieces" some "$work/again" 2>"$work/error" &&
    grep -q 'the pieces some.000 ... of .* are not all there, or not right' "$work/error"
said "a piece that is missing is seen" $?
! pieces take "$work/pieces" other "$work/other" 2>"$work/error" && grep -q 'the pieces other.000' "$work/error"
said "a package that is missing is seen" $?

# startup.py: a stand-in for Solo that keeps something in its cache, and says what `solo run` says
cat >"$work/solo" <<'SOLO'
#!/bin/sh
case $* in *--wait*) exit 3 ;; esac
[ -e "$SOLO_CACHE/kept" ] || { sleep 0.3; : >"$SOLO_CACHE/kept"; }
printf 'Once upon a time'
sleep 0.2
printf ' there was\n'
printf 'loading: 100%%\r20 tokens, 40.0 tok/s, the first after 150 ms; 4 read; level ops, after 11 tokens and 1.25 s loop\n' >&2
SOLO
python3 -B bench/startup.py --solo "$work/solo" -n 20 --json "$work/startup.json" >"$work/said" && python3 -B - "$work/startup.json" <<'END'
import json, sys
made = json.load(open(sys.argv[1]))
found = {(r["name"], r["params"]["run"]): r["median"] for r in made["results"]}
assert found["first text", "first"] - found["first text", "second"] > 0.15, found  # caches are new for the first, and kept for the second
assert 0.2 <= found["first text", "second"] < 5 and found["tokens by ops", "first"] == 11, found
# the answer's clock starts 150 ms before the text
assert abs(found["change-over", "second"] - found["first text", "second"] - 1.1) < 1e-6, found
END
said "startup.py tells the first text from the prompt, and when it changed over" $?
python3 -B bench/startup.py --solo "$work/solo" --wait >/dev/null 2>"$work/error"
[ $? -eq 1 ] && grep -q 'startup.py: .*--wait: status 3' "$work/error"
said "startup.py tells what failed" $?

# presets.sh: what fails leaves its reason, and what is there is not run again
cat >"$work/solo" <<'SOLO'
#!/bin/sh
case $* in synth*) sleep 0.2; echo synth ;; *bench*) echo bench ;; *--wait*) echo compile ;; *run*) echo start ;; esac >>"$LOG"
case $* in
    *"synth big"*) echo "solo: the disk is full" >&2; exit 1 ;;
    synth*) : >"$4" ;;
    *run*) printf 'Once upon a time'; sleep 0.05; printf ' x\n'; echo "8 tokens, the first after 1 ms; 4 read; level ops" >&2 ;;
    *bench*loop*) echo "solo: the level loop cannot be measured here: one dispatch is not possible: a reason" >&2; exit 1 ;;
    *bench*)
        while [ "$1" != --json ]; do shift; done
        echo '{"experiment": "llm", "params": {"gpu_bytes": 2e9}, "results": [{"name": "tg8", "params": {"fuse": "ops"}, "median": 7}], "checks": []}' >"$2" ;;
esac
SOLO
presets() { LOG=$work/log SOLO=$work/solo bench/presets.sh -q -o "$work/presets" -w "$work/weights" "$@" >"$work/said" 2>&1; }
presets -m "small-q4_0 big-f16"
[ $? -eq 1 ] && grep -q '^small-q4_0 .*ops     7.0 .* 2.00 GB' "$work/said" && grep -q '"one dispatch", "why": .*not possible: a reason' "$work/presets/small-q4_0.solo.json" &&
    grep -q '"why": "solo: the disk is full"' "$work/presets/big-f16.solo.json" && [ -e "$work/presets/small-q4_0.startup.json" ] && [ -z "$(ls "$work"/weights/*.gguf 2>/dev/null)" ]
said "presets.sh goes on without one dispatch, and leaves reasons in records" $?
rm "$work/log"
BATCH=2 presets -k "$work/presets" -m "small-q4_0 small-q4_k small-q8_0 small-f16" && [ "$(uniq "$work/log" | tr '\n' ' ')" = "synth start compile bench synth start compile bench " ] &&
    [ "$(grep -c synth "$work/log")" -eq 3 ]
said "presets.sh measures nothing while it writes or compiles, and leaves out what is known" $?
rm "$work/presets/small-q8_0.solo.json"
presets -l -m "small-q4_0 llama-3.2-3b-q8_0 small-q8_0 phi-3-mini-f16" && [ "$(cut -d' ' -f1 "$work/said" | tr '\n' ' ')" = "llama-3.2-3b-q8_0 small-q8_0 phi-3-mini-f16 " ] &&
    [ "$(awk '{ print ($2 > 3400 && $2 < 9500) }' "$work/said" | tr -d '\n')" = 101 ]
said "presets.sh -l says what is left, and how large it is" $?

# The tokens that llama.cpp is given are those that src/base/rng.c makes: these are of seed 1 and 4,096 tokens.
python3 -B -c '
import sys
sys.path.insert(0, "bench")
import llama
assert llama.solo_tokens(1, 4, 4096) == [2421, 3068, 2439, 3135], llama.solo_tokens(1, 4, 4096)'
said "llama.py puts in what Solo puts in" $?

printf '#!/bin/sh\necho "llama.py: left out: llama.cpp, cuda: no GPU" >&2\necho much else\n' >"$work/python"
chmod +x "$work/python"
PYTHON=$work/python bench/llm.sh -o "$work/out" -w "$work/work" -m "tiny-f16 tiny-f32" llama >"$work/said" 2>&1 &&
    [ "$(sed 's/[0-9]* s$/N s/' "$work/said")" = "$(printf 'llm.sh: tiny f16, llama.cpp: N s\n    left out: llama.cpp, cuda: no GPU')" ]
said "llm.sh tells what was left out" $?

# A stand-in for Python that fails: the other parts run all the same, and the exit status is not 0.
printf '#!/bin/sh\necho "no such thing" >&2\nexit 3\n' >"$work/python"
chmod +x "$work/python"
PYTHON=$work/python SOLO=true bench/llm.sh -o "$work/out" -w "$work/work" -m tiny-f16 torch solo >"$work/said" 2>&1
[ $? -eq 1 ] && grep -q 'torch: failed with status 3' "$work/said" && grep -q 'no such thing' "$work/said" && grep -q 'solo, ops: [0-9]* s' "$work/said"
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
node tools/record_layout.mjs --check "$work/a.json"
said "records that the scripts write have one result per line" $?

if (cd bench && python3 -B -c 'import llama_cpp; llama_cpp.find_libraries()') 2>/dev/null; then
    measure() { python3 -B bench/llama.py models/builtin.gguf --cpu --threads 1 -p 8 -n 6 -d 4 -r 1 --flash off "$@"; }
    measure --json "$work/llama.json" && python3 -B - "$work" <<'END'
import json, sys
made = json.load(open(f"{sys.argv[1]}/llama.json"))
assert [(r["name"], r["params"]["backend"]) for r in made["results"]] == [("pp8", "CPU"), ("tg6", "CPU")], made["results"]
tokens = made["results"][1]["greedy"]
for name, wrong, depth in ("right", tokens, 4), ("wrong", tokens[:2] + [0] + tokens[3:], 4), ("deeper", tokens, 5):
    json.dump({"params": {"seed": 1, "depth": depth}, "tokens": wrong}, open(f"{sys.argv[1]}/{name}.json", "w"))
END
    said "llama.py measures llama.cpp" $?
    measure --solo "$work/right.json" --json "$work/llama.json" && grep -q '6 of 6 tokens equal' "$work/llama.json" &&
        "$SOLO" compare "$work/llama.json" "$work/llama.json" >/dev/null
    said "its tokens are held against Solo's" $?
    measure --type f16 --solo "$work/wrong.json" --json "$work/llama.json" 2>"$work/error"
    [ $? -eq 1 ] && grep -q "not so: tg6 CPU flash off: tokens are Solo's: 2 of 6 tokens equal; they part where" "$work/error"
    said "other tokens are seen" $?
    ! measure --solo "$work/deeper.json" --json "$work/llama.json" 2>"$work/error" && grep -q 'has seed 1 and depth 5' "$work/error"
    said "a record of another run is refused" $?
    ! python3 -B bench/llama.py models/builtin.gguf -r 1 --json "$work/none.json" 2>"$work/error" && grep -q 'nothing to measure: .*no GPU' "$work/error"
    said "libraries without a GPU are left out, with the reason" $?
else
    echo "skip llama.py measures llama.cpp (its libraries are not here)"
fi

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
