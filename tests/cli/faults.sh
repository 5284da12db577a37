#!/bin/sh
# A few of the calls that `make test-faults` lets fail: memory, the system, the GPU. One line, the right status, nothing
# half-written, no wrong text. And the order of calls by which files that take the place of others reach the disk.
SOLO=${SOLO:-build/solo}
cd "$(dirname "$0")/../.." || exit 1
faults=$(dirname "$SOLO")/tests/faults
if [ ! -e "$faults/fail_calls.so" ] || ! command -v python3 >/dev/null; then
    echo "skip calls that fail (they need Linux and python3)"
    exit 0
fi
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=1}:verify_asan_link_order=0"
export PYTHONDONTWRITEBYTECODE=1
python3 tests/faults/run.py "$SOLO" "$faults/fail_calls.so" --points 16 --slow-points 2
python3 tests/faults/gpu.py "$SOLO" "$faults/fail_gpu.so" --points 1 --only "run on"
python3 tests/faults/order.py "$SOLO" "$faults/fail_calls.so"
