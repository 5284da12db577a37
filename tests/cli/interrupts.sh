#!/bin/sh
# Ctrl-C at a few moments of what commands do (bench/interrupts.py tries more of each): it ends them, or brings the prompt back,
# and leaves no process and no half-written file. How soon that is on an idle machine is not for a test to say: seconds are a hang.
SOLO=${SOLO:-build/solo}
cd "$(dirname "$0")/../.." || exit 1
if ! python3 -c 'import os, pty; os.waitstatus_to_exitcode' 2>/dev/null || [ ! -d /proc/self ]; then
    echo "skip Ctrl-C (it needs Linux, and python3 with pty)"
    exit 0
fi
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1}:verify_asan_link_order=0"
names="run dawn,chat: start,chat: prompt,sim evolve,bench dispatch,embed,tokenize,serve,pull: stalled"
[ ! -e "$(dirname "$SOLO")/tests/faults/fail_calls.so" ] || names="$names,pull: a name"
python3 bench/interrupts.py --solo "$SOLO" --tries 2 --longest 4 --limit 5 --only "$names"
