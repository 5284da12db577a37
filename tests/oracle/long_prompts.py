#!/usr/bin/env python3
"""Compares `solo logits` with transformers' float32 logits of longer prompts: 1, 2, 63 to 65, 511 to 513 and 1,500 tokens,
for every model of tests/data/models and tests/data/families, at every position.

    tests/oracle/long_prompts.py [--solo PROGRAM] [--limit SHARE] [--lengths N,N...] [--fuse LEVEL] [FOLDER...]

Prints for each model the largest difference of any length, as a share of how far a position's logits spread, and the length;
fails if one is over the limit. Needs torch and transformers; without them it says so and is done. Some minutes."""
import argparse
import glob
import json
import os
import subprocess
import sys

try:
    import torch
    import transformers
except ImportError:
    sys.exit(print("skipped: no torch and transformers here"))

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "..", "tools"))
from fixtures_experts import of_blocks, one_by_one  # noqa: E402 (it needs torch)

DATA = os.path.join(HERE, "..", "data")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--solo", default="build/solo")
    parser.add_argument("--limit", type=float, default=1e-4)
    parser.add_argument("--lengths", default="1,2,63,64,65,511,512,513,1500")
    parser.add_argument("--fuse", default="ops")
    parser.add_argument("folders", nargs="*")
    options = parser.parse_args()
    options.lengths = [int(n) for n in options.lengths.split(",")]
    options.folders = options.folders or sorted(glob.glob(f"{DATA}/models/*") + glob.glob(f"{DATA}/families/*"))
    return options


def is_dynamic(model):
    return (getattr(model.config, "rope_parameters", None) or {}).get("rope_type") == "dynamic"


@torch.no_grad()
def logits_of(model, tokens):
    """Of all tokens at once; but where angles beyond what was trained depend on how far a text has come, token by token
    from there on."""
    trained = model.config.max_position_embeddings if is_dynamic(model) else len(tokens)
    made = model(torch.tensor([tokens[:trained]]), use_cache=len(tokens) > trained)
    rows = [made.logits[0]]
    for token in tokens[trained:]:
        made = model(torch.tensor([[token]]), past_key_values=made.past_key_values)
        rows.append(made.logits[0])
    return torch.cat(rows)


def difference(solo, fuse, folder, model, tokens):
    """The largest share, or what solo said."""
    command = [solo, "logits", folder, "--fuse", fuse, "--tokens", ",".join(map(str, tokens))]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        return run.stderr.strip()
    right = logits_of(model, tokens).double()
    got = torch.tensor(json.loads(run.stdout)["logits"], dtype=torch.float64)
    spread = right.max(1).values - right.min(1).values
    return ((got - right).abs().max(1).values / spread).max().item()


def read_model(folder):
    """transformers' model."""
    config = transformers.AutoConfig.from_pretrained(folder)
    plainly = one_by_one(config)
    if not getattr(config, "quantization_config", None):
        return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager",
                                                                 **plainly).eval()
    del config.quantization_config  # MXFP4, which it reads only with packages for GPUs
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32, attn_implementation="eager", **plainly)
    of_blocks(model, folder)
    return model.eval()


def main():
    o = arguments()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    failed = False
    for folder in o.folders:
        model = read_model(folder)
        ends = hasattr(model.config, "n_positions")  # learned positions end somewhere
        most = model.config.max_position_embeddings if ends else max(o.lengths)
        worst, where, said = 0, 0, None
        for length in o.lengths:
            if length > most:
                continue
            random = torch.Generator().manual_seed(length)
            tokens = torch.randint(3, model.config.vocab_size, (length,), generator=random).tolist()
            share = difference(o.solo, o.fuse, folder, model, tokens)
            if isinstance(share, str):
                said = f"{length} tokens: {share}"
            elif not share <= worst:  # true of NaN, too
                worst, where = share, length
        bad = said or not worst <= o.limit
        failed |= bool(bad)
        print("not ok" if bad else "ok", os.path.basename(folder), f"{worst:.2g} at {where} tokens", said or "", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
