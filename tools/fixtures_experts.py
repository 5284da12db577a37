"""For fixtures.py: mixtures of experts as folders have them."""
import torch


def one_by_one(config):
    """Options by which transformers computes experts one by one: what it has for all at once wants even shapes."""
    experts = getattr(config, "num_experts_per_tok", None) or getattr(config, "top_k_experts", None)
    return {"experts_implementation": "eager"} if experts else {}


def separate(tensors, model_type):
    """A tensor for each expert, as folders had them before transformers 5."""
    where, names = (("block_sparse_moe", ("w1", "w3", "w2")) if model_type == "mixtral" else
                    ("mlp", ("gate_proj", "up_proj", "down_proj")))
    result = {}
    for name, weight in tensors.items():
        stem = name.split(".mlp.")[0]
        if name.endswith(".experts.gate_up_proj"):
            for e, both in enumerate(weight):
                for kind, half in zip(names, both.chunk(2, 0)):
                    result[f"{stem}.{where}.experts.{e}.{kind}.weight"] = half.contiguous()
        elif name.endswith(".experts.down_proj"):
            for e, matrix in enumerate(weight):
                result[f"{stem}.{where}.experts.{e}.{names[2]}.weight"] = matrix.contiguous()
        else:
            result[name.replace(".mlp.gate.", f".{where}.gate.")] = weight
    return result


MX_VALUES = [0, 0.5, 1, 1.5, 2, 3, 4, 6]


def to_blocks(weight):
    """Experts' matrices [experts, in, out] as MXFP4: blocks [experts, out, in / 32, 16], two numbers to a byte, and scales."""
    rows = weight.transpose(1, 2).reshape(weight.shape[0], weight.shape[2], -1, 32)
    exponents = torch.floor(torch.log2(rows.abs().amax(-1).clamp(min=2.0 ** -100))) - 2
    scaled = rows / (2.0 ** exponents)[..., None]
    nearest = (scaled.abs()[..., None] - torch.tensor(MX_VALUES)).abs().argmin(-1) + 8 * (scaled < 0)
    return (nearest[..., 0::2] + 16 * nearest[..., 1::2]).to(torch.uint8), (exponents + 127).to(torch.uint8)


def in_blocks(tensors):
    result = {}
    for name, weight in tensors.items():
        if name.endswith((".gate_up_proj", ".down_proj")) and weight.dim() == 3:
            result[name + "_blocks"], result[name + "_scales"] = to_blocks(weight.float())
        else:
            result[name] = weight
    return result


def of_blocks(model, folder):
    """Puts what the blocks of a folder mean into the model."""
    from safetensors.torch import load_file
    table = torch.tensor(MX_VALUES + [-value for value in MX_VALUES])
    tensors = load_file(f"{folder}/model.safetensors")
    weights = dict(model.named_parameters())
    for name, blocks in tensors.items():
        if name.endswith("_blocks"):
            numbers = torch.stack((blocks & 15, blocks >> 4), -1).flatten(-2).long()
            scales = 2.0 ** (tensors[name.replace("_blocks", "_scales")].float() - 127)
            values = (table[numbers] * scales[..., None]).flatten(-2)
            weights[name.removesuffix("_blocks")].data.copy_(values.transpose(1, 2))
        elif name in weights:
            weights[name].data.copy_(tensors[name].float())
