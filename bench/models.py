"""Real models' shapes with random weights, the same for every engine that is measured."""
import math

import torch
import transformers

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


LLAMA3_ROPE = {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 8192}


def _shape(model_type, layers, embedding, ffn, heads, kv_heads, vocab, context, theta, rope=None, **more):
    return dict(model_type=model_type, num_hidden_layers=layers, hidden_size=embedding, intermediate_size=ffn,
                num_attention_heads=heads, num_key_value_heads=kv_heads, vocab_size=vocab, max_position_embeddings=context,
                rope_parameters={**(rope or {"rope_type": "default"}), "rope_theta": theta}, bos_token_id=None, eos_token_id=None,
                pad_token_id=None, **more)


SHAPES = {
    "qwen2.5-0.5b": _shape("qwen2", 24, 896, 4864, 14, 2, 151936, 32768, 1e6, tie_word_embeddings=True),
    "qwen2.5-1.5b": _shape("qwen2", 28, 1536, 8960, 12, 2, 151936, 32768, 1e6, tie_word_embeddings=True),
    "llama-3-8b": _shape("llama", 32, 4096, 14336, 32, 8, 128256, 8192, 5e5, rms_norm_eps=1e-5),
    "llama-3.2-1b": _shape("llama", 16, 2048, 8192, 32, 8, 128256, 131072, 5e5, rope=LLAMA3_ROPE, rms_norm_eps=1e-5,
                           tie_word_embeddings=True),
    "tiny": _shape("qwen2", 2, 64, 96, 4, 2, 211, 512, 1e4, tie_word_embeddings=True),
}


def configuration(name, changes=()):
    """`changes`: texts like "hidden_size=256", over what the shape says."""
    options = dict(SHAPES[name])
    for change in changes:
        key, value = change.split("=", 1)
        if not isinstance(options.get(key), int):
            raise SystemExit(f"{key} is not a size of {name}: {', '.join(k for k, v in options.items() if type(v) is int)}")
        options[key] = int(value)
    options["rope_parameters"] = dict(options["rope_parameters"])
    return transformers.AutoConfig.for_model(options.pop("model_type"), **options)


def build(config, dtype, device, seed):
    """Weights such that every part shows in the logits: of a size that keeps activations at about one, scores large
    enough for attention to choose, biases and norms not what training starts with. Drawn in float32, so that two
    types of one seed (and device) differ by rounding only."""
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=dtype)
    model = model.to_empty(device=device)
    model.model.rotary_emb = type(model.model.rotary_emb)(config=config).to(device)
    model.tie_weights()
    random = torch.Generator(device).manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=random, device=device, dtype=torch.float32)
            if "norm" in name:
                noise = 1 + 0.1 * noise
            elif weight.dim() == 1:
                noise = 0.2 * noise
            else:
                noise *= (1.7 if "q_proj" in name or "k_proj" in name else 1.0) / math.sqrt(weight.shape[1])
            weight.copy_(noise)
    return model.eval()


def load(folder, dtype, device):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).to(device).eval()


def bytes_per_token(model):
    """Weights that one token needs: all, but for an embedding of which it needs one row."""
    embedding = model.get_input_embeddings().weight
    tied = embedding is model.get_output_embeddings().weight
    return sum(w.numel() * w.element_size() for w in model.parameters() if tied or w is not embedding)


def some_tokens(count, vocab, seed):
    return torch.randint(0, vocab, (1, count), generator=torch.Generator().manual_seed(seed))
