#!/bin/sh
# The tables of docs/llm.md and the README from a folder of records, made up here, and those and the pictures of docs/megakernel.md.
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir -p docs results/some

cat >make.mjs <<'END'
import { writeFileSync } from "node:fs";
const result = (name, params, median, more) => ({ name, params, unit: "tok/s", samples: [median], n: 1, median, ci95: [median - 1, median + 1], ...more });
const record = (gpu, results, more) => ({ schema: "solo-record-1", solo: { version: "1", commit: "abc" }, when: "2026-01-02T03:04:05Z",
    host: { os: "Linux", cpu: "a processor", cores: 4 }, gpu, results, checks: [], ...more });
const write = (name, contents) => writeFileSync(`results/some/${name}.json`, JSON.stringify(contents));
write("m-0.5b-f16.solo", record({ impl: "dawn", impl_version: "Dawn 1", device: "a GPU", driver: "7", copy_gbps: 4000 }, [
    result("tg128", { impl: "dawn", fuse: "none", submit: "sync" }, 50, { dispatches: 12800 }),
    result("tg128", { impl: "dawn", fuse: "ops", submit: "batch" }, 700, { dispatches: 6400 }),
    result("pp512", { impl: "dawn", fuse: "ops", submit: "batch" }, 20000)], { params: { token_bytes: 1e9 } }));
write("m-0.5b-f16.torch", record({ impl: "torch", impl_version: "PyTorch 2", copy_gbps: 4100 }, [
    result("tg128", { impl: "torch", variant: "eager", mode: "", dtype: "f16" }, 40),
    result("tg128", { impl: "torch", variant: "compile", mode: "default", dtype: "f16" }, 600),
    result("tg128", { impl: "torch", variant: "compile-max", mode: "max", dtype: "f16" }, 620)],
    { checks: [{ what: "tokens are eager's", ok: false, detail: "3 of 128 tokens equal" }], skipped: [{ what: "pp512", why: "no time left" }] }));
write("m-0.5b-q4_0.llama", record({ impl: "llama.cpp" }, [{ ...result("tg128", { flash: "on" }, 778), ci95: undefined, samples: [777, 778, 779] }],
    { devices: [{ name: "CUDA0", is_gpu: true }] }));
END
node make.mjs
for name in machine headline ladder prompt logits checks; do
    printf '<!-- table llm_%s some -->\n<!-- end -->\n' $name
done >docs/some.md
printf '<!-- table llm_headline none -->\n<!-- end -->\n' >docs/none.md
node "$root/tools/tables.mjs" >/dev/null

expect() { # NAME LINE [FILE]
    if grep -qF -- "$2" "${3:-docs/some.md}"; then echo "ok $1"; else echo "not ok $1"; fi
}
expect "columns are models and types" '| tokens per second | m-0.5b f16 | m-0.5b q4_0 |'
expect "Solo's best level is named, the best of a column bold" '| Solo, dawn | **700** [699, 701] `ops` | – |'
expect "the best variant of PyTorch is taken" '| PyTorch | 620 [619, 621] torch.compile | – |'
expect "other engines say how they ran" '| llama.cpp CUDA | – | **778** [777, 779] flash attention |'
expect "the limit is a copy's speed over what a token reads" '| memory limit | 4100 | – |'
expect "every way to launch is there" '| dawn, `ops` | – | – | – | 700 [699, 701] | 50.0 |'
expect "prompts have a table" '| Solo, dawn | **20000** [19999, 20001] `ops batch` |'
expect "a failed check is seen" "| m-0.5b-f16.torch | tokens are eager's | **failed** | 3 of 128 tokens equal |"
expect "what was left out is named" 'left out: no time left'
expect "the machine is described" 'a GPU, driver 7; a processor, 4 cores, Linux; solo 1 (abc), Dawn 1; PyTorch 2; 2026-01-02.'
expect "without records it says so" 'Not measured yet.' docs/none.md
if node "$root/tools/tables.mjs" --check >/dev/null; then echo "ok what was written is current"; else echo "not ok what was written is current"; fi

# ---- every preset and type, as bench/presets.sh leaves them ----------------------------------------------------------
mkdir results/presets
cat >presets.mjs <<'END'
import { writeFileSync } from "node:fs";
const result = (name, params, median, more) => ({ name, params, unit: "", samples: [median], n: 1, median, ci95: [median, median], ...more });
const write = (name, gpu, params, results, more) => writeFileSync(`results/presets/${name}.json`, JSON.stringify({ solo: { version: "1", commit: "abc" },
    when: "2026-01-02T03:04:05Z", host: { os: "Linux", cpu: "a processor", cores: 4 }, gpu, params, results, checks: [], ...more }));
const gpu = { impl: "dawn", impl_version: "Dawn 1", device: "a GPU", driver: "7", copy_gbps: 4000 };
const speeds = (fuses) => [...fuses.map((fuse, i) => result("tg128", { fuse }, 100 * (i + 1), { share_of_copy_bandwidth: 0.25 * (i + 1) })),
    result("pp512", { fuse: "ops" }, 5000, { first_token_ms: 102.4 })];
write("large-8b-q4_0.solo", gpu, { token_bytes: 5e9, gpu_bytes: 6e9, compile_s: 12.5 }, speeds(["ops", "loop"]));
write("large-8b-q4_0.startup", {}, {}, [result("first text", { run: "first" }, 4.5), result("first text", { run: "second" }, 2.25)]);
write("small-1b-f16.solo", gpu, { token_bytes: 2e9, gpu_bytes: 3e9 }, speeds(["ops"]));
write("small-1b-f16.startup", {}, {}, [], { skipped: [{ what: "one dispatch", why: "solo: one dispatch is not possible: a reason" }] });
write("tiny-q4_k.solo", {}, {}, [], { skipped: [{ what: "all of it", why: "not done after 9 s" }] });
END
cat >megakernels.mjs <<'END'
import { writeFileSync } from "node:fs";
const result = (impl, depth, median) => ({ name: "tg128", params: { impl, depth }, unit: "tok/s", samples: [median], n: 1, median, ci95: [median, median] });
writeFileSync("results/presets/m-1b-bf16.megakernels.json", JSON.stringify({ params: { depths: [16] }, results: [result("dawn", 16, 1200), result("megakernels", 16, 1000)],
    checks: [{ what: "depth 16: tokens are Solo's", ok: true, detail: "9 of 128 tokens equal" }] }));
END
node presets.mjs && node megakernels.mjs
printf '<!-- table megakernels presets -->\n<!-- end -->\n' >docs/megakernels.md
printf '<!-- table presets_machine presets -->\n<!-- end -->\n<!-- table presets presets -->\n<!-- end -->\n<!-- table presets none -->\n<!-- end -->\n' >docs/presets.md
node "$root/tools/tables.mjs" >/dev/null
expect "a preset has its speeds, its share, its start-up, its compiling and its memory" \
    '| large-8b | q4_0 | 100 | 200 | 50% | 5000 | 102 | 4.50 / 2.25 | 12.5 | 6.00 |' docs/presets.md
expect "without one dispatch the share is that of ops" '| small-1b | f16 | 100 | – | 25% | 5000 | 102 | – / – | – | 3.00 |' docs/presets.md
expect "and the reason is named" 'small-1b f16: one dispatch is not possible: a reason' docs/presets.md
expect "a model that failed has its reason" 'tiny q4_k: not done after 9 s' docs/presets.md
[ "$(grep -n small-1b docs/presets.md | head -n 1 | cut -d: -f1)" -lt "$(grep -n large-8b docs/presets.md | cut -d: -f1)" ] &&
    echo "ok small models come first" || echo "not ok small models come first"
expect "Megakernels stand beside Solo" '| m-1b bf16 | 16 | 1000 [1000, 1000] | 1200 [1200, 1200] | 1.20× | 9 of 128 tokens equal |' docs/megakernels.md
expect "presets that were not measured are named" 'Not measured yet.' docs/presets.md

# ---- models in a tab, beside what others publish, as bench/web_gpu.mjs leaves them -------------------------------------
mkdir results/web
cat >web.mjs <<'END'
import { writeFileSync } from "node:fs";
const result = (name, params, median, more) => ({ name, params, unit: "tok/s", samples: [median], n: 1, median, ci95: [median, median], ...more });
const write = (where, page, rate) => writeFileSync(`results/web/${where}.gemma-2b-q4_0.llm.json`, JSON.stringify({ host: { page }, gpu: { device: "a GPU" },
    params: { gpu_bytes: 2e9 }, results: [result("pp512", { fuse: "loop" }, 5120, { first_token_ms: 100 }), result("tg128", { fuse: "loop" }, rate),
        result("pp512", { fuse: "ops" }, 6400, { first_token_ms: 80 }), result("tg128", { fuse: "ops" }, rate / 2)] }));
write("native", undefined, 800);
write("tab", "Chrome 1", 700);
END
node web.mjs
printf '<!-- table web_published web -->\n<!-- end -->\n<!-- table web_published none -->\n<!-- end -->\n' >docs/web.md
node "$root/tools/tables.mjs" >/dev/null
expect "a tab has its best level, its first token and its memory" '| gemma-2b | Chrome 1, a GPU | 700 [700, 700] | 80.0 | 2.00 |' docs/web.md
expect "natively it stands beside it" '| gemma-2b | natively, a GPU | 800 [800, 800] | 80.0 | 2.00 |' docs/web.md
expect "what others publish is theirs" '| gemma-2b | Firefox, Intel Arc A770 (published) | ~85 | ~180 | – |' docs/web.md
expect "without a measurement nothing is compared" 'Not measured yet.' docs/web.md

# ---- one dispatch: sweeps, as bench/one.sh leaves them (these are the built-in model's, in software) -------------------
cp -r "$root/tests/data/one" results/one
for name in machine systems depth workgroups size checks depth_picture workgroups_picture size_picture; do
    printf '<!-- table one_%s one -->\n<!-- end -->\n' $name
done >docs/one.md
sed 's/ one -->/ none -->/' docs/one.md >docs/one-none.md
sed 's/ one -->/ some -->/' docs/one.md >docs/one-some.md
node "$root/tools/tables.mjs" >/dev/null

rate='[0-9.]+ \[[0-9.]+, [0-9.]+\]'
matches() { # NAME PATTERN [FILE]
    if grep -qE -- "$2" "${3:-docs/one.md}"; then echo "ok $1"; else echo "not ok $1"; fi
}
matches "depths are in order, beside each other" "^\| 64 \| $rate \| $rate \| [0-9.]+× \| [0-9]+ \|$"
matches "workgroups have a line each" "^\| 2 \| [0-9]+ \| $rate \|$"
matches "models have what a token reads" "^\| builtin \| 3\.84 \| $rate \| $rate \| [0-9.]+× \| [0-9]+% \|$"
matches "every point was checked" '^\| groups-2 \| every level and submit policy made the same tokens.* \|  \| 2 of 2'
matches "its machine is described" '^llvmpipe .*, 2 cores'
expect "a picture has its place" '](one-depth.svg)' docs/one.md
[ "$(grep -c 'Not measured yet.' docs/one-none.md)" -eq 9 ] && echo "ok what was not measured is named" || echo "not ok what was not measured is named"
expect "every level of Solo has a line" '| Solo, dawn, `ops` | **700** [699, 701] `batch` | – |' docs/one-some.md
expect "flash attention is named" '| llama.cpp CUDA, flash attention on | – | **778** [777, 779] |' docs/one-some.md
expect "so have other engines" '| torch.compile in a CUDA graph | 620 [619, 621] max | – |' docs/one-some.md

mkdir pictures
node "$root/tools/one_pictures.mjs" results/one pictures
if [ "$(ls pictures)" = "$(printf 'one-depth.svg\none-size.svg\none-workgroups.svg')" ] && python3 - pictures/*.svg <<'END'
import sys
import xml.etree.ElementTree as tree
NAME = "{http://www.w3.org/2000/svg}"
dots = {"depth": 4, "size": 2, "workgroups": 4}
for path in sys.argv[1:]:
    root = tree.parse(path).getroot()
    width, height = map(float, root.get("viewBox").split()[2:])
    circles = root.findall(f"{NAME}circle")
    assert all(0 < float(c.get("cx")) < width and 0 < float(c.get("cy")) < height for c in circles), path
    legend = 2
    wanted = dots[path.split("one-")[1].split(".")[0]]
    assert len(circles) == wanted + legend, (path, len(circles))
    assert "NaN" not in open(path).read() and "undefined" not in open(path).read(), path
    assert "prefers-color-scheme: dark" in open(path).read(), path
END
then echo "ok the sweeps are drawn"; else echo "not ok the sweeps are drawn"; fi
mkdir nothing && node "$root/tools/one_pictures.mjs" results/none nothing && [ -z "$(ls nothing)" ] && echo "ok nothing is drawn of nothing" || echo "not ok nothing is drawn of nothing"
