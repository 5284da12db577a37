#!/bin/sh
# Mistakes in kernels that the build has to find, not a run: names of arguments, constants and includes that do not exist.
root=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
CC=${CC:-cc}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" && ln -s "$root/src" "$root/tools" "$root/include" . && mkdir gen || exit 1

# build_kernels: what the build does with kernels/ before anything is compiled for the GPU
build_kernels() {
    node tools/kernels.mjs sources gen &&
        $CC -std=c11 -D_GNU_SOURCE -Iinclude -Isrc -Igen tools/expand_kernel.c src/graph/kernel_text.c src/launch/kernel_file.c src/base/str.c src/base/err.c \
            gen/kernel_sources.c -o gen/expand_kernel && gen/expand_kernel </dev/null
}

# fails NAME FILE SED-SCRIPT PART: with this change of a file of kernels/ the build fails, and says PART
fails() {
    rm -rf kernels && cp -r "$root/kernels" . && sed -i "$3" "kernels/$2"
    if cmp -s "kernels/$2" "$root/kernels/$2"; then
        echo "not ok $1 (nothing was changed)"
    elif build_kernels >out 2>&1; then
        echo "not ok $1 (it is not noticed)"
    elif grep -qF -- "$4" out; then
        echo "ok $1"
    else
        echo "not ok $1 (does not say '$4': $(head -c 200 out))"
    fi
}

cp -r "$root/kernels" .
if build_kernels >out 2>&1; then echo "ok the kernels as they are"; else echo "not ok the kernels as they are ($(head -c 200 out))"; fi
fails "an unknown argument" graph/op_rmsnorm.wgsl 's/RMSNORM_EPSILON)/RMSNORM_EPSILONN)/' 'RMSNORM_EPSILONN is neither an argument of this file'
fails "an argument of another kernel" graph/op_rmsnorm.wgsl 's/RMSNORM_EPSILON)/SOFTMAX_SCALE)/' 'kernels/graph/op_rmsnorm.wgsl:'
fails "an argument by its number" graph/op_rmsnorm.wgsl 's/arg_float(args, RMSNORM_EPSILON)/arg_float(args, 5)/' 'an argument without a name'
fails "an unknown value" include/matmul.wgsl 's/FORM_GATED/FORM_CLOSED/' 'FORM_CLOSED is neither'
fails "an unknown function" include/unary.wgsl 's/UNARY_SQRT/UNARY_ROOT/' 'kernels/include/unary.wgsl:'
fails "a name that is there twice" args.txt 's/RMSNORM_EPSILON /RMSNORM_WEIGHT /' 'RMSNORM_WEIGHT is there twice'
fails "a constant with an argument's name" graph/op_rmsnorm.wgsl 's/^const TEAM/const ARG_LENGTH/' 'ARG_LENGTH is a name of kernels/args.txt already'
fails "an unknown include" graph/op_rmsnorm.wgsl 's/graph\.wgsl/graphs.wgsl/' 'no file kernels/include/graphs.wgsl'
fails "an include that one value of a placeholder lacks" graph/op_rmsnorm.wgsl 's/reduce_REDUCE/squares_EXCHANGE/' 'no file kernels/include/squares_xor.wgsl'
fails "a repetition by an unknown constant" graph/matmul_row.wgsl 's/^..!for i AT_ONCE/\/\/!for i ATONCE/' 'no constant ATONCE'
fails "a repetition by a constant that is no number" graph/matmul_row.wgsl 's/^..!for i AT_ONCE/\/\/!for i TEAMS/' 'no constant TEAMS'

# A constant that no kernel declares does not compile.
rm -rf kernels && cp -r "$root/kernels" . && node tools/kernels.mjs sources gen
for name in THREADS THREDS; do
    echo "#include \"graph/kernel_text.h\"
    void set(kernel_variant *v) { kernel_set_constant(v, CONSTANT_$name, 1); }" >set.c
    $CC -std=c11 -D_GNU_SOURCE -Werror -Iinclude -Isrc -Igen -c set.c -o set.o 2>/dev/null && echo $name >>compiles
done
if [ "$(cat compiles)" = THREADS ]; then echo "ok an unknown constant does not compile"; else echo "not ok an unknown constant does not compile"; fi
