#!/usr/bin/env python3
"""Makes tests/data/models and tests/data/families: tiny models of odd shapes with what transformers says about them.

    python3 tools/fixtures.py [NAME...]        needs torch, transformers, safetensors, numpy

Each is a Hugging Face folder: config.json, model.safetensors (one has shards) and golden.json, in the form

    about      where it comes from
    dtype      what transformers computed in
    prompt     token ids
    positions  of the prompt, those whose logits follow (without this key: all of them)
    logits     [positions][vocabulary], float32
    greedy     the tokens that follow the prompt, each the best one
    greedy_margin   by how much it was the best

The weights are random, but such that every part shows in the logits: biases and norms are not what they start as,
scores are large enough for attention to choose, windows and stretched angles are shorter than the prompt.
"""
import json
import math
import os
import shutil
import sys

import numpy as np
import torch
import transformers
from fixtures_experts import in_blocks, of_blocks, one_by_one, separate
from fixtures_models import CROSSING, EXPERTS, F16, F32, FAMILIES, MODELS
from safetensors.torch import save_file

from fixtures_gguf import save_gguf

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "data")
PROMPT_TOK, GREEDY_TOK, POSITIONS = 24, 12, [0, 1, 6, 15, 23]


def older(config):
    """The same configuration as files had it before transformers 5."""
    config["torch_dtype"] = config.pop("dtype")
    config["transformers_version"] = "4.44.0"
    if config["model_type"] == "gemma4_text":  # whose first files had this form
        layers = list(config.pop("per_layer_config").values())
        return config | {"global_head_dim": layers[0]["head_dim"],
                         "num_global_key_value_heads": layers[0].get("num_key_value_heads")}
    parameters = config.pop("rope_parameters", None)
    if not parameters:
        return config
    if config["model_type"] == "olmo3":  # which had one base, and stretched the angles of the layers that see all
        parameters = parameters["full_attention"]
    elif "sliding_attention" in parameters:
        config["rope_local_base_freq"] = parameters["sliding_attention"]["rope_theta"]
        if config["model_type"] != "gemma3n_text":  # which always named its layers
            config["sliding_window_pattern"] = config.pop("layer_types").index("full_attention") + 1
        parameters = parameters["full_attention"]
    config["rope_theta"] = parameters.pop("rope_theta")
    kind = parameters.pop("rope_type")
    partial = parameters.pop("partial_rotary_factor", 1.0)
    if partial != 1.0:
        config["partial_rotary_factor"] = partial
    if kind == "longrope":
        parameters.pop("original_max_position_embeddings", None)
    key = "rope_type" if config["model_type"] == "olmo3" else "type"
    config["rope_scaling"] = None if kind == "default" else {key: kind, **parameters}
    if config["model_type"] not in ("gemma3n_text", "olmo3", "qwen3_5_moe_text"):
        config.pop("layer_types", None)
    if config["model_type"] == "gpt_neox":
        config["rotary_pct"] = config.pop("partial_rotary_factor", 1.0)
        config["rotary_emb_base"] = config.pop("rope_theta")
    if config["model_type"] == "gemma":
        config["hidden_activation"] = None
    return config


def randomise(model, seed):
    random = torch.Generator().manual_seed(seed)
    gemma = model.config.model_type.startswith("gemma")
    from_zero = (gemma and not model.config.model_type.startswith(("gemma3n", "gemma4"))) or model.config.model_type.startswith("qwen3_5")  # norms multiply by one more than their weight
    for name, number in model.named_buffers():
        if name.endswith("layer_scalar"):
            number.copy_(0.8 + 0.2 * torch.randn(number.shape, generator=random))
        if name.endswith("e_score_correction_bias"):
            number.copy_(torch.rand(number.shape, generator=torch.Generator().manual_seed(seed)))
    for name, weight in model.named_parameters():
        noise = torch.randn(weight.shape, generator=random)
        with torch.no_grad():
            if name.endswith((".bias", "_bias", ".sinks")):
                weight.copy_(0.5 * noise)
            elif name.endswith(("_scale", ".scale")):
                weight.copy_(1 + 0.3 * noise)
            elif name.endswith("modality_router.weight"):  # what it multiplies is divided by its size
                weight.copy_(noise * math.sqrt(weight.shape[1]))
            elif name.endswith(".A_log"):  # rates from 0.2 to 2, about
                weight.copy_(0.5 * noise - 0.5)
            elif "norm" in name or ".ln_" in name:
                weight.copy_(0.3 * noise + (0 if from_zero and not name.endswith("linear_attn.norm.weight") else 1))
                if name.endswith("q_norm.weight") and model.config.model_type.startswith(("gemma3n", "gemma4")):  # its scores have no scale
                    weight.mul_(0.5)
            elif any(part in name for part in ("embed_tokens", "wte", "wpe", "embed_in")):  # gemma multiplies them by the root of their size
                weight.copy_(0.5 * noise / (math.sqrt(weight.shape[1]) if gemma else 1))
            else:
                gain = 1.8 if any(part in name for part in ("q_proj", "k_proj", "qkv_proj", "c_attn", "query_key_value")) else 1.3
                turned = model.config.model_type == "gpt_oss"
                weight.copy_(gain * noise / math.sqrt(weight.shape[-1 if weight.dim() == 3 and not turned else 1]))


def save(folder, model, types, form, shards):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    matrices, vectors = types
    tied = model.config.tie_word_embeddings
    tensors = {name: weight.detach().to(matrices if weight.dim() > 1 else vectors).contiguous()
               for name, weight in model.state_dict().items() if not (tied and name == "lm_head.weight")}
    if form == "old":  # as the folders people have call them
        if model.config.model_type == "gpt_neox":
            tensors["embed_out.weight"] = tensors.pop("lm_head.weight")
        if any(kind in model.config.model_type for kind in ("moe", "mixtral", "deepseek")):
            tensors = separate(tensors, model.config.model_type)
        if model.config.model_type == "gpt2":
            tensors = {name.removeprefix("transformer."): weight for name, weight in tensors.items()}
    config = json.loads(model.config.to_json_string(use_diff=False))
    known = json.loads(model.config.to_json_string(use_diff=True))  # without what every model has
    config = {key: value for key, value in config.items() if key in known or key in vars(model.config.__class__)}
    if form == "mxfp4":
        tensors = in_blocks(tensors)
        config["quantization_config"] = {"quant_method": "mxfp4"}
    config["dtype"] = str(matrices).removeprefix("torch.")
    config["architectures"] = [type(model).__name__]
    if form == "old":
        config = older(config)
    for unwanted in ("_name_or_path", "attn_implementation"):
        config.pop(unwanted, None)
    with open(f"{folder}/config.json", "w") as out:
        json.dump(config, out, indent=2, sort_keys=True)
        out.write("\n")
    if shards == 1:
        save_file(tensors, f"{folder}/model.safetensors", metadata={"format": "pt"})
        return
    names, index = sorted(tensors), {}
    for shard in range(shards):
        file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        part = names[shard::shards]
        save_file({name: tensors[name] for name in part}, f"{folder}/{file}", metadata={"format": "pt"})
        index |= {name: file for name in part}
    with open(f"{folder}/model.safetensors.index.json", "w") as out:
        json.dump({"metadata": {}, "weight_map": index}, out, indent=1, sort_keys=True)
        out.write("\n")


def make_experts(name, seed):
    kind, options, arch = EXPERTS[name]
    folder = os.path.join(HERE, "experts", name)
    config = transformers.AutoConfig.for_model(kind, **json.loads(json.dumps(options)))
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=F32, attn_implementation="eager", **one_by_one(config))
    randomise(model, seed)
    for part, weight in model.named_parameters():  # as the file has them
        with torch.no_grad():
            exact = ("mlp.gate.weight", "shared_expert_gate.weight", "router.proj.weight", "_coefs.weight", "_router.weight")
            if weight.dim() > 1 and not part.endswith(exact):
                weight.copy_(weight.to(F16).to(F32))
    save_gguf(folder, model, arch, name.endswith("-older"))
    contents, logits = golden(model, config.vocab_size, seed)
    write_golden(folder, contents)
    return folder, contents, (logits.max() - logits.min()).item()


def golden(model, vocab, seed):
    """What transformers makes of it."""
    random = torch.Generator().manual_seed(seed)
    tokens = torch.randint(3, vocab, (1, PROMPT_TOK), generator=random)
    prompt, greedy, margins = tokens[0].tolist(), [], []
    # Without a cache, so that angles for long texts are those of all positions; but dynamic ones are of the position alone:
    # what is in a cache keeps them.
    cached = (getattr(model.config, "rope_parameters", None) or {}).get("rope_type") == "dynamic"
    with torch.no_grad():
        made = model(tokens, use_cache=cached)
        first = logits = made.logits[0]
        while len(greedy) < GREEDY_TOK:
            best = torch.topk(logits[-1], 2)
            greedy.append(best.indices[0].item())
            margins.append(round((best.values[0] - best.values[1]).item(), 5))
            tokens = torch.cat([tokens, best.indices[:1, None]], 1)
            made = model(tokens[:, -1:] if cached else tokens, use_cache=cached, past_key_values=made.past_key_values)
            logits = made.logits[0]
    assert model.dtype == F32 and first.dtype == F32
    return {
        "about": f"float32 logits of transformers {transformers.__version__} on the stored weights, at some positions of the "
                 "prompt; then greedy continuation with the gap between the best two logits (tools/fixtures.py)",
        "dtype": str(first.dtype),
        "prompt": prompt,
        "positions": POSITIONS,
        "logits": [[float(np.format_float_positional(v, unique=True)) for v in first[p].numpy()] for p in POSITIONS],
        "greedy": greedy,
        "greedy_margin": margins,
    }, first


def write_golden(folder, contents):
    lines = []
    for key, value in contents.items():
        text = json.dumps(value, separators=(",", ":"))
        if key == "logits":  # a line for each position
            text = "[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in value) + "]"
        lines.append(f"{json.dumps(key)}: {text}")
    with open(f"{folder}/golden.json", "w") as out:
        out.write("{\n" + ",\n".join(lines) + "\n}\n")


def make(name, seed):
    kind, options, types, form, shards = (MODELS | FAMILIES | CROSSING)[name]
    folder = os.path.join(HERE, "models" if name in MODELS else "families" if name in FAMILIES else "crossing", name)
    config = transformers.AutoConfig.for_model(kind, **json.loads(json.dumps(options)))
    plainly = one_by_one(config)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=F32, **plainly)
    randomise(model, seed)
    save(folder, model, types, form, shards)
    if form == "mxfp4":  # transformers reads that only with packages for GPUs
        model.config._attn_implementation = "eager"
        of_blocks(model, folder)
        written = model
    else:
        written = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=F32, attn_implementation="eager", **plainly)
    contents, logits = golden(written, config.vocab_size, seed)
    write_golden(folder, contents)
    return folder, contents, (logits.max() - logits.min()).item()


def main():
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for name in sys.argv[1:] or MODELS | FAMILIES | CROSSING | EXPERTS:
        for seed in range(1, 100):  # one that says many different things, none of them by a hair
            folder, contents, spread = (make_experts if name in EXPERTS else make)(name, seed)
            different, margin = len(set(contents["greedy"])), min(contents["greedy_margin"])
            if different >= 6 and margin >= 0.01 * spread ** 0.5:
                break
        size = sum(os.path.getsize(os.path.join(folder, file)) for file in os.listdir(folder))
        print(f"{name}: {size / 1024:.0f} KB, seed {seed}, logits spread {spread:.2f}, {different} different of {GREEDY_TOK} "
              f"tokens, smallest margin {margin}")


if __name__ == "__main__":
    main()
