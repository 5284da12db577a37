#!/bin/sh
# Writes the inputs that fuzzing configurations starts from, of the small models of tests/data: each config.json without
# blanks, and the beginning of some of these models as GGUF files, up to their first weight.
#
#     SOLO=build/solo sh tests/fuzz/make_config_seeds.sh
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root/tests"
mkdir -p fuzz/corpus/config_hf fuzz/corpus/decoder
for config in data/families/*/config.json data/embeddings/*/config.json data/crossing/*/config.json; do
    name=$(basename "$(dirname "$config")")
    python3 -c 'import json, sys; print(json.dumps(json.load(open(sys.argv[1])), separators=(",", ":")), end="")' \
        "$config" >"fuzz/corpus/config_hf/$name"
done
for name in cohere2-windows deepseek2-dense gemma4-small gpt2-usual gpt-neox-parallel llama-yarn mixtral-single olmo2-rows qwen35-tiled starcoder2-plain; do
    "$SOLO" convert "data/families/$name" "$work/$name.gguf" >/dev/null
    python3 - "$work/$name.gguf" "fuzz/corpus/decoder/$name" <<'END'
import struct
import sys

data, at = open(sys.argv[1], "rb").read(), 8
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


def number(kind):
    global at
    at += struct.calcsize("<" + kind)
    return struct.unpack_from("<" + kind, data, at - struct.calcsize("<" + kind))[0]


def skip(kind):
    global at
    if kind == 8:
        length = number("Q")
        at += length
    elif kind == 9:
        kind, count = number("I"), number("Q")
        for _ in range(count):
            skip(kind)
    else:
        at += SIZES[kind]


tensors, keys = number("Q"), number("Q")
for _ in range(keys):
    skip(8)
    skip(number("I"))
for _ in range(tensors):
    skip(8)
    dims = number("I")
    at += 8 * dims + 12
open(sys.argv[2], "wb").write(data[:at])
END
done
