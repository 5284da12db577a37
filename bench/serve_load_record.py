"""bench/serve_load_record.py SEEN.json OUT.json [NAME=VALUE...]: what bench/serve_load.mjs saw, as a record."""
import json
import sys

from record import check, record, result, write

seen_in, out, *more = sys.argv[1:]
with open(seen_in) as file:
    seen = json.load(file)
params = {"impl": "solo serve", "clients": seen["clients"], "seconds": round(seen["seconds"], 1), **dict(pair.split("=", 1) for pair in more)}
gpu = {"impl": "dawn", "backend": "Vulkan", "device": "software", "adapter_type": "software"}
results = [result(name, params, unit, [value]) for name, unit, value in (
    ("tokens", "tok/s", seen["tokens_per_second"]), ("first token, p50", "ms", seen["first_token_ms"]["p50"]),
    ("first token, p99", "ms", seen["first_token_ms"]["p99"]), ("memory before", "MiB", seen["memory_mib"]["before"]),
    ("memory after", "MiB", seen["memory_mib"]["after"]))]
counts = f"{seen['answers']} answers, {seen['gone']} clients gone, {seen['refused']} malformed requests"
write(out, record("serve-load", gpu, params, results, [
    check("every answer is complete, and the same as alone; every refusal has OpenAI's form; the server ends with status 0",
          seen["wrong"] == 0, counts)]))
