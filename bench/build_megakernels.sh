#!/bin/bash
# bench/build_megakernels.sh FOLDER: builds the extension of HazyResearch's Megakernels from what bench/pack_megakernels.sh has put there.
#
# Environment: PYTHON (python3), NVCC (nvcc, or the one in /usr/local/cuda), CUDA_ARCH (90a: a Hopper GPU).
set -euo pipefail
. "$(dirname "$0")/packing.inc"
[ $# -eq 1 ] || { usage >&2; exit 2; }
work=$(realpath "$1") python=${PYTHON:-python3} arch=${CUDA_ARCH:-90a}
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
[ -x "$nvcc" ] || { echo "build_megakernels.sh: there is no nvcc: NVCC names one" >&2; exit 1; }
headers=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
[ -e "$headers/Python.h" ] || { echo "build_megakernels.sh: there is no $headers/Python.h: PYTHON names a Python that has it" >&2; exit 1; }

demo=$work/repo/demos/low-latency-llama extension=$demo/mk_llama$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
[ ! -e "$extension" ] || exit 0
# the tool kit's stub of the driver's library, or that one itself
driver=
for place in "$(dirname "$nvcc")/../lib64/stubs/libcuda.so" "$(dirname "$nvcc")/../targets/x86_64-linux/lib/stubs/libcuda.so" \
    /usr/local/nvidia/lib64/libcuda.so.1 /usr/lib/x86_64-linux-gnu/libcuda.so.1; do
    if [ -z "$driver" ] && [ -e "$place" ]; then driver=$place; fi
done
began=$SECONDS
cd "$demo"
# as its Makefile has it for a Hopper GPU, without what only prints
"$nvcc" llama.cu -x cu -std=c++20 -O3 -DNDEBUG -DKITTENS_HOPPER -gencode=arch=compute_"$arch",code=sm_"$arch" --use_fast_math --expt-extended-lambda \
    --expt-relaxed-constexpr -Xcompiler=-Wno-psabi,-fno-strict-aliasing,-fPIC -shared -I"$work/ThunderKittens/include" -I"$work/repo/include" \
    -I"$work/python/pybind11/include" -I"$headers" ${driver:+-Xlinker "$driver"} -lrt -lpthread -ldl -o "$extension.new"
mv "$extension.new" "$extension"
echo "build_megakernels.sh: $(basename "$extension") of $(cat "$work/commit") in $((SECONDS - began)) s"
