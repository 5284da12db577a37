#!/bin/sh
# solo sim as a user types it: results, what is said of mistakes, and other people's programs on the same numbers (gymnasium and
# numpy, where they are: deps/python).
SOLO=${SOLO:-build/solo}
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# points in numbers, whatever the locale
mkdir "$work/bin"
printf '#!/bin/sh\nLC_ALL=C exec %s "$@"\n' "$(command -v awk)" >"$work/bin/awk"
chmod 755 "$work/bin/awk"
PATH=$work/bin:$PATH

# check NAME COMMAND...: ok if it succeeds; otherwise its output is printed
check() {
    what=$1
    shift
    if said=$("$@" 2>&1); then echo "ok $what"; else echo "not ok $what ($(echo "$said" | tail -n 1))"; fi
}

# fails NAME STATUS PART OPTIONS...: solo sim ends so, with one line that has this in it
fails() {
    name=$1 status=$2 part=$3
    shift 3
    "$SOLO" sim "$@" >"$work/out" 2>"$work/err"
    got=$?
    if [ $got -eq "$status" ] && grep -qF -- "$part" "$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ] && [ ! -s "$work/out" ]; then
        echo "ok $name"
    else
        echo "not ok $name (exit $got, $(head -c 300 "$work/err"))"
    fi
}

# ---- a file of one's own ---------------------------------------------------------------
cat >"$work/spring.wgsl" <<'END'
// a spring, and a table that pushes it
override STIFFNESS: f32 = 4.0;
const DT = 0.01;
struct State { x: f32, v: f32 }
fn init(i: u32) -> State { return State(f32(i), 0.0); }
fn step(s: State, t: u32) -> State {
    let v = s.v + DT * (data(t % data_rows(), 1u) - STIFFNESS * s.x);
    return State(s.x + DT * v, v);
}
fn score(s: State) -> f32 { return -abs(s.x); }
END
printf 'day,push\n1,0.5\n2,-0.5\n3,0\n' >"$work/push.csv"
spring() { "$SOLO" sim "$work/spring.wgsl" --data "$work/push.csv" --pop 5 --steps 40 "$@"; }
spring --param STIFFNESS=9 -o "$work/a.csv" --trace "$work/trace.csv" --trace-count 2 --every 10 >"$work/said"
awk -F, 'NR > 1 { print $1, $2, $3, $4 }' "$work/a.csv" >"$work/rows"
awk 'BEGIN { push[0] = 0.5; push[1] = -0.5; push[2] = 0
    for (i = 0; i < 5; i++) { x = i; v = 0
        for (t = 0; t < 40; t++) { v += 0.01 * (push[t % 3] - 9 * x); x += 0.01 * v }
        print i, x < 0 ? x : -x, x, v } }' >"$work/wanted"
near() { paste -d ' ' "$1" "$2" | awk '{ for (k = 1; k <= 4; k++) { d = $k - $(k + 4); if (d < 0) d = -d; if (d > 1e-4) exit 1 } } END { exit NR != 5 }'; }
check "a file with data and a parameter gives what awk computes" near "$work/rows" "$work/wanted"
check "it says what happened" grep -q '^5 individuals, 40 steps: .* dispatches in ' "$work/said"
check "a trace has its lines" [ "$(cut -d, -f1,2 "$work/trace.csv" | tr '\n' ' ')" = "t,individual 0,0 0,1 10,0 10,1 20,0 20,1 30,0 30,1 40,0 40,1 " ]
check "the trace ends in the last state" [ "$(tail -n 2 "$work/trace.csv" | cut -d, -f3-)" = "$(sed -n 2,3p "$work/a.csv" | cut -d, -f3-)" ]
for way in '--fuse none --submit sync' '--fuse none --submit batch' '--chunk 1' '--impl wgpu' '--impl wgpu --fuse none --submit each'; do
    # shellcheck disable=SC2086 # options
    check "the same with $way" sh -c "'$SOLO' sim '$work/spring.wgsl' --data '$work/push.csv' --pop 5 --steps 40 --param STIFFNESS=9 $way -o - | cmp - '$work/a.csv'"
done
spring -o "$work/a.json" >/dev/null
check "the record is one" "$SOLO" report "$work/a.json" -o "$work/a.html"
check "it has scores and states" python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
assert r["experiment"] == "sim" and r["params"]["parameters"] == {"STIFFNESS": 4} and r["params"]["population"] == 5
assert len(r["scores"]) == 5 and sorted(r["states"]) == ["v", "x"] and r["score"]["best"] == r["scores"].index(max(r["scores"]))' "$work/a.json"
check "--show-kernel has the file's lines first" sh -c "'$SOLO' sim '$work/spring.wgsl' --data '$work/push.csv' --steps 1 --show-kernel | sed -n 4p | grep -q '^struct State'"
check "--list names them all" [ "$("$SOLO" sim --list | wc -l)" -eq 13 ]
check "--show gives a file that runs" sh -c "'$SOLO' sim pi --show >'$work/pi.wgsl' && '$SOLO' sim '$work/pi.wgsl' --pop 64 --steps 50 -o '$work/1.csv' && '$SOLO' sim pi --pop 64 --steps 50 -o '$work/2.csv' && cmp '$work/1.csv' '$work/2.csv'"
check "--help" sh -c "'$SOLO' sim --help | grep -q -- --timeout"

# ---- mistakes ------------------------------------------------------------------------------
edit() { sed "$1" "$work/spring.wgsl" >"$work/$2.wgsl"; }
edit 's/s\.x + DT/s.y + DT/' wrong
fails "two results into one file" 2 "-o and --trace are one file" pi -o "$work/one.csv" --trace "$work/../${work##*/}/one.csv"
fails "a trace among the results" 2 "--trace takes a file" pi --trace -
fails "genes for what goes on" 2 "what is --genomes for?" sphere --evolve 3 --resume none --genomes "$work/push.csv"
fails "a mistake in the file is an error with its line" 1 "wrong.wgsl:8: " "$work/wrong.wgsl" --data "$work/push.csv" --steps 3
fails "on wgpu, too" 1 "wrong.wgsl:8: " "$work/wrong.wgsl" --data "$work/push.csv" --steps 3 --impl wgpu
edit 's/State(s\.x + DT \* v, v)/State(t, v)/' wrong
fails "so is one of types" 1 "wrong.wgsl:8: " "$work/wrong.wgsl" --data "$work/push.csv" --steps 3
fails "which wgpu finds in the middle of a function" 1 "wrong.wgsl:8: " "$work/wrong.wgsl" --data "$work/push.csv" --steps 3 --impl wgpu
edit 's/data(t % data_rows(), 1u)/1.0 \/ (s.v * 0.0)/' nan
fails "scores that are no numbers" 1 "1024 of 1024 scores are not finite numbers; the first is that of individual 0" "$work/nan.wgsl" --steps 3
edit 's/data(t % data_rows(), 1u)/0.0/; s/let v = /var v = 0.5; while (v >= 0.0) { v = fract(1.7 * v + 0.3 + s.x); } v += /' never
fails "a step that never ends" 1 "did not end in 1 s" "$work/never.wgsl" --steps 3 --timeout 1
fails "a population that is too large" 1 "is too large for" pi --pop 4000000000
fails "data that are missing" 2 "give it a table (--data FILE.csv)" "$work/spring.wgsl" --steps 3
fails "data that nobody reads" 2 "never calls data()" pi --data "$work/push.csv"
fails "steps past the data" 1 "the table has rows 0 to 1520" finance --impl wgpu --pop 8 --steps 1502
printf '1,2\n3,4\n5,six\n' >"$work/bad.csv"
fails "a bad row" 1 "bad.csv, line 3, column 2: 'six' is not a finite number" "$work/spring.wgsl" --data "$work/bad.csv" --steps 3
fails "no steps" 2 "how many steps?" "$work/spring.wgsl" --data "$work/push.csv"
fails "a parameter that is not there" 2 "has no parameter 'MASS'; it has STIFFNESS" "$work/spring.wgsl" --param MASS=1
fails "a parameter that is no number" 2 "takes a number of type f32, not 'soft'" "$work/spring.wgsl" --param STIFFNESS=soft
fails "an unknown name" 1 "there is no built-in simulation 'nothing'" nothing
fails "a file that is not there" 1 "missing.wgsl" "$work/missing.wgsl"
fails "an unknown option" 2 "unknown option '--fast'" pi --fast
fails "a result of an unknown kind" 2 "-o takes a name that ends in .json or .csv" pi -o "$work/a.txt"
fails "a level that is none of a simulation" 2 "--fuse takes" pi --fuse ops
fails "genes where there are none" 2 "has no genes" pi --genomes "$work/push.csv"
fails "too few genes" 1 "2 columns; sphere has 10 genes" sphere --genomes "$work/push.csv"

# ---- other people's programs ------------------------------------------------------------------
PYTHONPATH=$PWD/deps/python${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH
if python3 -c 'import gymnasium, numpy' 2>/dev/null; then
    for game in cartpole mountaincar acrobot; do
        check "$game is gymnasium's" python3 -B tests/oracle/sim_gym.py "$SOLO" $game --impl wgpu
    done
    for name in acrobot finance rastrigin; do
        check "$name is that of NumPy" python3 -B tests/oracle/sim_numpy.py "$SOLO" $name --impl wgpu
    done
    measured() { python3 -B bench/sim.py "$1" --engines numpy --device cpu --solo "$SOLO" --pop 20 --steps "$2" -r 2 --json "$work/frameworks-$1.json"; }
    check "frameworks are checked and measured" measured finance 30
    check "so is Solo beside them" python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
assert any(c["what"].startswith("Solo: states after 20 steps") and c["ok"] for c in r["checks"]) and r["params"]["left_out"] == []' "$work/frameworks-finance.json"
    check "an engine that is not there is left out with its reason" sh -c "PYTHONPATH=$PWD/deps/python python3 -B -c 'import sys; sys.modules[\"jax\"] = None; sys.argv[0] = \"bench/sim.py\"; sys.path.insert(0, \"bench\"); import sim; sim.main()' rastrigin --engines jax,numpy --device cpu --solo '$SOLO' --pop 20 -r 2 --json - | grep -q 'jax (ModuleNotFoundError'"
    # half of it computed twice as fast is found out
    sed 's/0.5 \* v1 \* v1 \* s - phi2/v1 * v1 * s - phi2/' bench/sim_models.py >"$work/sim_models.py"
    cp bench/sim.py bench/own_process.py bench/record.py "$work/"
    sed -i 's/right, _ = Numpy(model,/import importlib.util as u; spec = u.spec_from_file_location("right", "bench\/sim_models.py"); m = u.module_from_spec(spec); spec.loader.exec_module(m); right, _ = Numpy(m.MODELS[model.name],/' "$work/sim.py"
    wrong() { ! python3 -B "$work/sim.py" acrobot --engines numpy --device cpu --solo "$SOLO" --pop 20 --steps 30 -r 2 --json "$work/wrong.json" 2>"$work/err" && grep -q 'numpy (computes something else' "$work/err"; }
    check "one that computes something else is not timed" wrong
    # and one that hangs is ended
    cp bench/sim_models.py "$work/"
    sed 's/^    def run(self, steps):/    def run(self, steps):\n        time.sleep(1000 * (steps > 25))/' bench/sim.py >"$work/sim.py"
    hangs() { ! timeout 1200 python3 -B "$work/sim.py" acrobot --engines numpy --device cpu --solo "$SOLO" --pop 20 --steps 30 -r 2 --seconds 8 --json "$work/wrong.json" 2>"$work/err" && grep -q 'numpy (not ready after [0-9]* s)' "$work/err"; }
    check "one that hangs is left out" hangs
else
    echo "skip gymnasium and NumPy (not here)"
fi

# ---- evolution ---------------------------------------------------------------------------------
evolve() { "$SOLO" sim sphere --pop 200 --seed 4 "$@"; }
evolve --evolve 30 -o "$work/whole.json" --best "$work/best.csv" >"$work/said"
check "evolution gets better" sh -c "grep -q '^best of a generation: -' '$work/said' && awk '/^best of/ { exit !(\$8 > \$5 / 20) }' '$work/said'"
check "the best can be run again" sh -c "'$SOLO' sim sphere --genomes '$work/best.csv' --pop 3 -o - | sed -n 2p | cut -d, -f2 | grep -qxF -- \"\$(python3 -c 'import json, sys; print(\"%.9g\" % max(json.load(open(sys.argv[1]))[\"scores\"]))' '$work/whole.json')\""
evolve --evolve 11 --save "$work/half.evo" >/dev/null
evolve --evolve 11 --save "$work/half.evo" >/dev/null
echo 'a letter' >"$work/letter"
fails "a file of another kind stays" 1 "letter is there, and is nothing that would be saved there: it stays as it is" sphere --evolve 2 --save "$work/letter"
check "as it was" grep -qx 'a letter' "$work/letter"
evolve --evolve 30 --resume "$work/half.evo" -o "$work/resumed.json" >/dev/null
scores() { python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(r["scores"], r["best_of_generation"])' "$1"; }
check "resumed, it ends where it would have" [ "$(scores "$work/whole.json")" = "$(scores "$work/resumed.json")" ]
evolve --evolve 11 -o "$work/half.csv" >/dev/null
evolve --evolve 11 --resume "$work/half.evo" -o "$work/again.csv" >"$work/said"
check "resumed at the end, it has states" cmp "$work/half.csv" "$work/again.csv"
# 200 individuals by one step, once: what was gone through before the break is none of these seconds' work
rate() { sed -n 's/.*: \([0-9.]*\) s, .*, \([0-9.e+]*\) steps a second/\1 \2/p' "$1" | awk '{ n = $1 * $2 } END { exit !(n > 100 && n < 400) }'; }
check "and counts the steps it made" rate "$work/said"
fails "options that are not those it was saved with" 1 "was saved by another simulation, with other data, or with other options" sphere --pop 200 --seed 5 --evolve 30 --resume "$work/half.evo"
fails "a trace of generations" 2 "--trace is for one generation" sphere --evolve 3 --trace "$work/t.csv"
fails "an elite of everyone" 1 "do not suit a population of 4" sphere --pop 4 --elite 4 --evolve 2
fails "nothing to evolve" 1 "has nothing to evolve" pi --evolve 2
for pause in 1.5 6 24 96; do # until it was interrupted after its first generation: how long that takes depends on the machine
    "$SOLO" sim rastrigin --pop 5000 --evolve 10000000 --save "$work/cut.evo" >"$work/out" 2>"$work/err" &
    pid=$!
    sleep "$pause"
    kill -INT $pid
    wait $pid
    status=$?
    ! grep -q 'interrupted after generation [1-9]' "$work/err" || break
done
check "interrupted, it saves and says so" sh -c "[ $status -eq 1 ] && grep -q 'interrupted after generation [1-9].*--resume' '$work/err' && [ -s '$work/cut.evo' ]"
at=$(sed -n 's/.*after generation \([0-9]*\).*/\1/p' "$work/err")
check "and goes on from there" "$SOLO" sim rastrigin --pop 5000 --evolve $((${at:-0} + 2)) --resume "$work/cut.evo"
# a generation that does not end: interrupts are ignored (in the background) until it begins, and then heard
cat >"$work/endless.wgsl" <<'END'
const GENES = 1;
struct State { x: f32 }
fn init() -> State { return State(gene(0)); }
fn step(s: State) -> State { var r = s; for (var i = 0u; i < 4000000000u; i++) { r.x = fract(r.x * 1.7 + 0.3); } return r; }
fn score(s: State) -> f32 { return s.x; }
END
"$SOLO" sim "$work/endless.wgsl" --pop 4 --steps 100 --chunk 0 --timeout 3600 --evolve 5 >"$work/out" 2>"$work/err" &
pid=$!
tries=0
while sleep 0.5 && [ $((tries += 1)) -lt 120 ] && kill -INT $pid 2>/dev/null; do
    :
done
kill -KILL $pid 2>/dev/null
wait $pid
status=$?
check "interrupted in the middle of a generation, it ends" sh -c "[ $status -eq 1 ] && [ \"\$(cat '$work/err')\" = 'solo: interrupted before the first generation was complete' ]"
fails "options of evolution without it" 2 "are for --evolve" sphere --elite 5
fails "options of a trace without it" 2 "are for --trace" sphere --every 5

# ---- measuring ---------------------------------------------------------------------------------
printf '0,0\n' >"$work/zeros.csv"
check "bench sim" "$SOLO" bench sim pi,nbody --pop 40 --steps 10 -r 2 --json "$work/builtin.json"
check "its record is one" python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
rows = {(x["params"]["sim"], x["params"]["fuse"], x["params"]["submit"]): x for x in r["results"]}
assert r["experiment"] == "sim" and len(rows) == 10 and all(x["unit"] == "gen/s" and len(x["samples"]) == 2 for x in r["results"])
assert rows["pi", "loop", "batch"]["dispatches"] == 1 and rows["pi", "none", "each"]["dispatches"] == rows["pi", "none", "each"]["submits"] == 12
assert rows["nbody", "none", "batch"]["submits"] == 1 and all(c["ok"] for c in r["checks"])' "$work/builtin.json"
"$SOLO" bench sim sphere --pop 4 --fuse loop -r 2 --seed 3 --chunk 40 --param DIMENSIONS=2 --genomes "$work/zeros.csv" --json "$work/one.json" >/dev/null
check "with genes that are given, a seed, parameters, and no more said than was seen" python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
[x] = r["results"]
assert x["mean_score"] == 0 and x["params"]["seed"] == 3 and x["params"]["chunk_ms"] == 40 and x["params"]["overrides"] == "DIMENSIONS=2"
assert r["checks"][0]["what"] == "every repetition gave the same bits"' "$work/one.json"
# how many steps a dispatch makes is none of a simulation's business, and here makes ways differ
printf 'struct State { x: f32 }\nfn init() -> State { return State(0.0); }\nfn step(s: State) -> State { return State(s.x + f32(solo_params.steps)); }\nfn score(s: State) -> f32 { return s.x; }\n' >"$work/differs.wgsl"
"$SOLO" bench sim "$work/differs.wgsl" --pop 4 --steps 3 -r 2 --submit batch,sync --json "$work/differs.json" >"$work/out" 2>"$work/err"
check "levels with other bits are measured, and reported" sh -c "[ $? -eq 1 ] && grep -q 'none by sync gave other bits than loop by batch' '$work/err' && grep -q '\"ok\": false, \"detail\": .*differs.wgsl: none by sync gave other bits' '$work/differs.json'"
timeout 1200 "$SOLO" bench sim "$work/never.wgsl" --steps 3 --pop 8 --fuse loop -r 2 --timeout 1 >"$work/out" 2>"$work/err"
check "bench sim of what never ends" sh -c "[ $? -eq 1 ] && grep -q 'did not end in 1 s' '$work/err'"
"$SOLO" bench sim pi --fuse ops >/dev/null 2>"$work/err"
check "bench sim with a level that is none" [ $? -eq 2 ]
mkdir -p "$work/site/docs" "$work/site/results/r"
cp "$work/builtin.json" "$work/site/results/r/"
sweep() { SOLO=$SOLO DEVICE=cpu bench/sim.sh -o "$work/site/results/r" -r 2 -s 1024 steps 2>"$work/err" && [ "$(find "$work/site/results/r" -type f | wc -l)" -eq 6 ]; }
check "the script of all measurements sweeps" sweep
no_software() { ! SOLO=$SOLO bench/sim.sh -o "$work/none" -r 2 -s 1024 steps 2>"$work/err" && [ "$(ls "$work/none")" = failed.txt ] && [ "$(grep -c '^steps-[0-9]*: failed: solo: ' "$work/none/failed.txt")" -eq 5 ]; }
if "$SOLO" sim pi --adapter gpu --pop 4 --steps 1 >/dev/null 2>&1; then echo "skip software is not measured for a GPU (there is one)"; else check "and software is not measured for a GPU" no_software; fi
printf '<!-- table sim_builtin r -->\n<!-- end -->\n<!-- table sim_steps r -->\n<!-- end -->\n<!-- table sim_systems r -->\n<!-- end -->\n' >"$work/site/docs/a.md"
python3 -c '
import json, sys
r = json.load(open(sys.argv[1] + "/builtin.json"))
r["results"] = [dict(x, params=dict(x["params"], sim="half")) for x in r["results"] if x["params"]["sim"] == "pi" and x["params"]["fuse"] == "none"]
r["checks"] = [{"what": "bits", "ok": False, "detail": "half"}]
json.dump(r, open(sys.argv[1] + "/builtin-half.json", "w"))' "$work/site/results/r"
root=$PWD
(cd "$work/site" && node "$root/tools/tables.mjs" && node "$root/tools/sim_pictures.mjs" results/r docs) >/dev/null
check "tables are made of the records" [ "$(grep -cE '^\| (pi|nbody) \| 40 \| 10 \||^\| (100|300|1000|3000|10000) \| [0-9.]+ \| [0-9.]+ \| [0-9.]+×|^Not measured yet' "$work/site/docs/a.md")" -eq 8 ]
check "of what there is" grep -qF '| half | 40 | 10 | – | – | – | – | – |' "$work/site/docs/a.md"
check "and what did not hold is said" grep -qxF 'Did not hold: bits (half).' "$work/site/docs/a.md"
check "so is a picture" grep -q '<polyline' "$work/site/docs/sim-steps.svg"

# ---- what the tutorial says --------------------------------------------------------------------
awk -v to="$work/tutorial" '/^```wgsl/ { n++; on = 1; next } /^```/ { on = 0 } on { print >(to n ".wgsl") }' docs/sim-tutorial.md
check "the tutorial's first file runs" "$SOLO" sim "$work/tutorial1.wgsl" --steps 100
"$SOLO" sim "$work/tutorial2.wgsl" --param ARRIVE=0.7 >"$work/said"
check "the second one waits as long as it says" grep -qF "$(sed -n 's/^0\.7 \(score: mean [0-9]\.[0-9]\).*/\1/p' docs/sim-tutorial.md)" "$work/said"
check "the third one evolves" "$SOLO" sim "$work/tutorial3.wgsl" --pop 64 --steps 600 --evolve 3
