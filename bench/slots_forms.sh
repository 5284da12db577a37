#!/bin/bash
# bench/slots_forms.sh MODEL...
#
# The forms of products for several texts (docs/batch.md): for each model, number of texts and form a line for each
# level: tokens per second of all texts, microseconds of a step, and of each kernel's phase (kernel:columns=us x times).
# Separate dispatches have some 8 microseconds of the timer in each. Lines come as they are measured, what matters most
# first; what there is no time for is left out, and said. Environment: SOLO (build/solo), TEXTS ("8 4 16 2"), FORMS
# ("alone vec4 ahead alone/256 teams sectors"; with /THREADS for other than 512), LEVELS (ops,loop), PROMPT (128), TOKENS
# (96), SECONDS_LEFT (450), ADAPTER (gpu), OUT (a folder for whole outputs).
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2; }
solo=${SOLO:-build/solo} levels=${LEVELS:-ops,loop} left=${SECONDS_LEFT:-450} out=${OUT:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '%-26s %5s %-10s %-5s %9s %9s  %s\n' model texts form level tok/s 'us/step' phases
for texts in ${TEXTS:-8 4 16 2}; do
    for form in ${FORMS:-alone vec4 ahead alone/256 teams sectors}; do
        for model in "$@"; do
            name=$(basename "$model" .gguf)
            if [ "$SECONDS" -ge "$left" ]; then
                echo "no time for $name, $texts texts, $form"
                continue
            fi
            threads=512
            [ "${form#*/}" = "$form" ] || threads=${form#*/}
            if ! SOLO_SLOTS_FORM=${form%/*} SOLO_ONE_THREADS=$threads "$solo" bench batch "$model" --texts "$texts" \
                --fuse "$levels" -p "${PROMPT:-128}" -n "${TOKENS:-96}" -r 1 --time --adapter "${ADAPTER:-gpu}" \
                >"$work/said" 2>&1; then
                echo "$name, $texts texts, $form: $(tail -n 1 "$work/said")"
                continue
            fi
            if [ -n "$out" ]; then
                mkdir -p "$out"
                cp "$work/said" "$out/$name-$texts-${form%/*}-$threads.txt"
            fi
            awk -v name="$name" -v texts="$texts" -v form="$form" '
                function flush() {
                    if (phases != "")
                        printf "%-26s %5s %-10s %-5s %9s %9.1f %s\n", name, texts, form, level[++shown], rate[shown], step, phases
                    phases = ""
                }
                /^  (none|ops|token|loop) +[0-9]/ { level[++count] = $1; rate[count] = $2; next }
                /^  kernel / { flush(); timed = 1; next }
                timed && /^  all/ { step = $NF; next }
                timed && NF == 1 { step = $1; next }
                timed && NF == 5 { phases = phases " " $1 ":" $2 "=" $4 "x" $3 }
                END { flush() }' "$work/said"
        done
    done
done
