#!/bin/sh
# How much memory there is: reported, used as a limit, and not exceeded while a model is loaded.
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
fails() { # NAME STATUS PATTERN COMMAND...: one line on stderr, and nothing else
    name=$1 status=$2 pattern=$3
    shift 3
    "$@" >"$work/out" 2>"$work/err"
    got=$?
    if [ $got -eq "$status" ] && grep -qE -- "$pattern" "$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ] && [ ! -s "$work/out" ]; then
        echo "ok $name"
    else
        echo "not ok $name (exit $got, $(head -c 300 "$work/err"))"
    fi
}

# ---- what there is ------------------------------------------------------------

for impl in dawn wgpu vulkan; do
    "$SOLO" info --impl $impl --json >"$work/info.json"
    ok "$impl knows its memory" python3 -c '
import json, sys
memory = json.load(open(sys.argv[1]))["gpus"][0]["memory"]
assert 0 < memory["free_bytes"] <= memory["bytes"], memory
' "$work/info.json"
done
SOLO_GPU_MEMORY=3221225472 "$SOLO" info --impl vulkan >"$work/info"
ok "what the environment says is believed" grep -q "memory 3 GiB, 3 GiB of it free" "$work/info"
for number in lots -1 '1 GiB' 1e9 1000000000000000; do
    fails "the environment's number is $number" 2 "^solo: SOLO_GPU_MEMORY: takes a whole number" \
        env "SOLO_GPU_MEMORY=$number" "$SOLO" info --impl vulkan
done
fails "the environment's seconds" 2 "^solo: SOLO_WORKER_SECONDS: takes a whole number .of up to 15 digits., not .x.$" \
    env SOLO_WORKER_SECONDS=x "$SOLO" info
SOLO_GPU_MEMORY='' "$SOLO" info --impl vulkan >"$work/info"
ok "nothing is no number" grep -q "memory .* of it free" "$work/info"
"$SOLO" info --impl stub --json >"$work/info.json"
ok "the stub has none to speak of" grep -q '"memory": {"bytes": null, "free_bytes": null}' "$work/info.json"

# ---- a model that does not fit ------------------------------------------------

for impl in dawn wgpu vulkan; do
    fails "too large for $impl" 1 \
        "needs [0-9.]+ kB \(weights [0-9.]+ kB, a context of 3 tokens [0-9.]+ kB, activations [0-9.]+ kB\) and .* has 20.0 kB free: a shorter" \
        env SOLO_GPU_MEMORY=20000 "$SOLO" logits $model --tokens 1,2,3 --impl $impl
done
fails "too large to be measured" 1 "a context of [0-9]+ tokens .* has 20.0 kB free" \
    env SOLO_GPU_MEMORY=20000 "$SOLO" bench llm $model --impl dawn -p 4 -n 4 -r 1
ok "with room enough it runs" env SOLO_GPU_MEMORY=100000000 "$SOLO" logits $model --tokens 1,2,3 --impl dawn

# ---- a large model ------------------------------------------------------------

# The stub's buffers are memory of the process; the file itself is mapped, neither private nor shared memory.
free_mb=$(df -Pm "$work" | awk 'NR == 2 { print $4 }')
available_mb=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo 2>/dev/null)
if [ "$free_mb" -lt 1500 ] || [ "${available_mb:-0}" -lt 3000 ]; then
    echo "skip a model of 1 GB (needs 1.5 GB of disk and 3 of memory)"
    exit 0
fi
"$SOLO" synth qwen2.5-0.5b f16 "$work/large.gguf" >"$work/out" 2>&1 || echo "not ok a model of 1 GB can be made"
cat >"$work/peak.py" <<'END'
import os, re, subprocess, sys, time
model, solo, impl, most_mb = sys.argv[1:]
# the address sanitizer keeps what is freed
asan = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
buffers = os.path.getsize(model)
# sixteen threads: the most there are without asking, and so the most memory on its way to the buffers
for _ in range(10):  # until the peak was seen: other work may keep this process from looking
    run = subprocess.Popen([solo, "logits", model, "--tokens", "5", "--impl", impl], stdout=subprocess.DEVNULL,
                           env=os.environ | {"ASAN_OPTIONS": asan, "SOLO_THREADS": "16"})
    peak = 0
    while run.poll() is None:
        found = re.findall(r"Rss(?:Anon|Shmem):\s+(\d+) kB", open(f"/proc/{run.pid}/status").read())
        peak = max(peak, sum(map(int, found)) * 1024)
        time.sleep(0.002)
    if run.returncode != 0 or peak > 0.9 * buffers:
        break
print(f"{peak / 1e6:.0f} MB at most, {buffers / 1e6:.0f} of them the model's; exit {run.returncode}")
sys.exit(not (run.returncode == 0 and 0.9 * buffers < peak < buffers + float(most_mb) * 1e6))
END
ok "loading 1 GB takes under 300 MB beside it" python3 "$work/peak.py" "$work/large.gguf" "$SOLO" stub 300
cat "$work/why"
# software has its buffers in the process, too; with a library, and what it compiles
ok "under 500 MB with all that Dawn needs" python3 "$work/peak.py" "$work/large.gguf" "$SOLO" dawn 500
cat "$work/why"
