#!/bin/sh
# Loops that every token goes through in one dispatch: compilers that check bounds (all browsers) have a loop count its turns, unless it
# goes by ones to a constant (docs/facts.md, "What Tint adds").
cd "$(dirname "$0")/../.." || exit 1
export LC_ALL=C # in a Turkish locale [a-z] has no i

constant='[A-Z0-9_u+*/ ()]*\|firstTrailingBit([A-Z]*)\|%uu' # names of constants, or a number that the text is given
for file in kernels/graph/matmul_row.wgsl kernels/graph/attention_vec.wgsl kernels/include/floats.wgsl kernels/include/subgroup_sum.wgsl \
    kernels/include/megakernel.wgsl kernels/include/megakernel_atomic.wgsl src/graph/megakernel_schedule.c; do
    counted=$(grep -n 'for (var\|for (;\|while (\|loop {' "$file" | grep -v '^[0-9]*: *while (\(first\|end\)' |
        grep -v "for (var \([a-z]*\) = [^;]*; \1 < \($constant\); \1++) " | grep -v 'for (var \([a-z]*\) = [^;]*; \1 > [0-9]*u; \1--) ')
    if [ -z "$counted" ]; then echo "ok loops of $file end at a constant"; else
        echo "not ok loops of $file end at a constant"
        echo "$counted"
    fi
done
