"""Models of PyTorch at their real shapes, with weights that are made here (bench/torch_models.py).

Those of torchvision and transformers; a decoder as a step for one token with a static cache.
"""
import math

PROMPT, CONTEXT = [7, 91, 15, 42, 3, 66], 64


# Each returns a module, and what makes the inputs of its calls, one after the other.


def resnet18(small):
    import torchvision
    size = 32 if small else 224
    return torchvision.models.resnet18(num_classes=10 if small else 1000), lambda: pixels(size)


def vit(small):
    import torchvision
    if small:
        return torchvision.models.VisionTransformer(32, 8, 2, 4, 32, 64, num_classes=10), lambda: pixels(32)
    return torchvision.models.vit_b_16(), lambda: pixels(224)


def pixels(size):
    import torch
    return [(torch.randn(1, 3, size, size),)]


def bert(small):
    import torch
    import transformers
    sizes = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=100) if small else {}
    rows = 16 if small else 128
    mask = torch.ones(1, rows, dtype=torch.long)
    mask[:, rows * 3 // 4:] = 0  # a text that is padded
    return output(transformers.BertModel(transformers.BertConfig(**sizes))), lambda: [(torch.randint(0, 100, (1, rows)), mask)]


def decoder(family, small, sizes):
    """sizes: layers, hidden, ffn, heads, heads of keys, size of a head, vocabulary; more are the configuration's own names."""
    import torch
    import transformers
    layers, hidden, ffn, heads, kv_heads, head, vocab, more = sizes
    if small:
        layers, hidden, ffn, heads, kv_heads, head, vocab = 2, 32, 64, 4, 2, 16, 100
    if family == "GPT2":
        config = transformers.GPT2Config(n_embd=hidden, n_layer=layers, n_head=heads, vocab_size=vocab, bos_token_id=None, eos_token_id=None)
        model = transformers.GPT2LMHeadModel(config)
    else:
        config = getattr(transformers, f"{family}Config")(
            hidden_size=hidden, num_hidden_layers=layers, intermediate_size=ffn, num_attention_heads=heads, num_key_value_heads=kv_heads,
            head_dim=head, vocab_size=vocab, bos_token_id=None, eos_token_id=None, pad_token_id=None, **more)
        model = getattr(transformers, f"{family.removesuffix('Text')}ForCausalLM")(config)
    model.generation_config = transformers.GenerationConfig(use_cache=True, cache_implementation="static",
                                                            cache_config={"batch_size": 1, "max_cache_len": CONTEXT})
    return model, lambda: [(torch.tensor([[token]]), torch.tensor([i])) for i, token in enumerate(PROMPT)]


LLAMA3_ROPE = {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
               "rope_theta": 5e5}
TIED = {"tie_word_embeddings": True}
LLAMA3 = TIED | {"rope_parameters": LLAMA3_ROPE, "max_position_embeddings": 131072}
# small ones first: the time may be over before the others are ready
MODELS = {
    "resnet18": resnet18, "vit-b-16": vit, "bert-base": bert,
    "gpt2": lambda small: decoder("GPT2", small, (12, 768, 3072, 12, 12, 64, 50257, {})),
    "smollm-360m": lambda small: decoder("Llama", small, (32, 960, 2560, 15, 5, 64, 49152, TIED)),
    "qwen2.5-0.5b": lambda small: decoder("Qwen2", small, (24, 896, 4864, 14, 2, 64, 151936, TIED)),
    "qwen3-0.6b": lambda small: decoder("Qwen3", small, (28, 1024, 3072, 16, 8, 128, 151936, TIED)),
    "gemma-3-1b": lambda small: decoder("Gemma3Text", small, (26, 1152, 6912, 4, 1, 256, 262144, TIED)),
    "llama-3.2-1b": lambda small: decoder("Llama", small, (16, 2048, 8192, 32, 8, 64, 128256, LLAMA3)),
}
GIGA_PARAMETERS = {"resnet18": 0.01, "vit-b-16": 0.09, "bert-base": 0.11, "gpt2": 0.16, "smollm-360m": 0.36, "qwen2.5-0.5b": 0.49, "qwen3-0.6b": 0.6,
                   "gemma-3-1b": 1.0, "llama-3.2-1b": 1.24}


def output(model):
    """As a module whose result is the tensor that matters."""
    import torch

    class Output(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *inputs):
            return self.model(*inputs).last_hidden_state
    return Output()


def ready(model):
    """As it is called: a decoder as a step for one token, with a cache of its own."""
    import torch
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache
    if not hasattr(model, "generation_config"):
        return model.eval()

    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = TorchExportableModuleWithStaticCache(model)

        def forward(self, token, position):
            return self.model(input_ids=token, cache_position=position)
    model.config.use_cache = True
    return Step().eval()


def fill(model):
    """Weights such that every part shows in the output: activations stay at about one, attention chooses, norms are not what training starts with."""
    import torch
    for place, module in model.named_modules():
        norm = "Norm" in type(module).__name__
        for name, weight in module.named_parameters(recurse=False):
            if norm:
                weight.add_(torch.randn_like(weight), alpha=0.1)
            elif weight.dim() < 2:
                weight.normal_(0, 0.2)
            else:
                inputs = weight.shape[0] if type(module).__name__ == "Conv1D" else weight[0].numel()  # of transformers: turned
                weight.normal_(0, (1.7 if place.endswith(("q_proj", "k_proj")) else 1.0) / math.sqrt(inputs))
        if getattr(module, "running_var", None) is not None:
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 2)


def typed(model, dtype):
    """The model itself; RoPE's frequencies stay f32, as they do where a model is loaded."""
    import torch
    kept = [(module, name, value) for module in model.modules() for name, value in module.named_buffers(recurse=False) if "inv_freq" in name]
    model.to(torch.float16 if dtype == "f16" else torch.float32)
    for module, name, value in kept:
        setattr(module, name, value.float())
    return model
