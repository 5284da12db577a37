#!/usr/bin/env python3
"""Makes tests/data/embeddings: tiny encoders of odd shapes with what transformers says about them.

    python3 tools/fixtures_embedding.py [NAME...]        needs torch, transformers, safetensors, gguf

Each is a folder as sentence-transformers has it (config.json, model.safetensors, modules.json, 1_Pooling ...), or one
with a GGUF file as llama.cpp's converter would write it (model.gguf), and golden.json:

    about   where it comes from
    encoded texts as they are written, with their "tokens" and "embedding", by sentence-transformers (where the folder has a
            tokenizer.json)
    texts   each with its token ids, its "embedding" (pooled, behind the dense layers, normalised where the model says so),
            and "row", the last layer's vector of its token 1

Texts are shorter and longer than windows, and than what a program of few rows holds.
"""
import json
import os
import shutil
import sys

import numpy as np
import torch
import transformers
from safetensors.torch import save_file
from torch.nn.functional import linear, normalize

from fixtures import BF16, F16, F32, layered_rope, rope

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "data", "embeddings")
LENGTHS = [2, 9, 16, 40]


def encoder(layers, hidden, ffn, heads, vocab, **more):
    return dict(num_hidden_layers=layers, hidden_size=hidden, intermediate_size=ffn, num_attention_heads=heads,
                vocab_size=vocab, max_position_embeddings=64, pad_token_id=0) | more


GEMMA = encoder(7, 36, 24, 4, 61, num_key_value_heads=2, head_dim=8, sliding_window=7, query_pre_attn_scalar=8,
                use_bidirectional_attention=True)
QWEN = encoder(2, 36, 38, 4, 61, num_key_value_heads=2, head_dim=10, tie_word_embeddings=True)

# name: (model type, configuration, pooling, dense layers (width, bias, tanh), normalised, type of matrices, form)
MODELS = {
    "bert-mean": ("bert", encoder(2, 36, 50, 3, 61, type_vocab_size=2), "mean", [], True, F32, "folder"),
    # the first token's vector, not of length 1, and a layer with bias and tanh behind it
    "bert-cls-dense": ("bert", encoder(1, 40, 30, 5, 67, type_vocab_size=3, layer_norm_eps=0.01, hidden_act="gelu_new"), "cls",
                       [(26, True, True)], False, F16, "folder"),
    # positions begin behind the padding token's number
    "xlm-roberta-mean": ("xlm-roberta", encoder(2, 36, 46, 2, 71, type_vocab_size=1, pad_token_id=1), "mean", [], True, BF16,
                         "folder"),
    "nomic-mean": ("nomic_bert", encoder(2, 36, 50, 3, 61, **rope(theta=100.0)), "mean", [], True, F16, "folder"),
    "qwen3-last": ("qwen3", QWEN | rope(), "lasttoken", [], True, BF16, "folder"),
    # windows on both sides, angles of their own in them, two layers behind pooling
    "gemma-dense": ("gemma3_text", GEMMA | layered_rope(rope(theta=1000.0), 100.0), "mean", [(50, False, False), (36, False, False)],
                    True, F16, "folder"),
    "bert-gguf": ("bert", encoder(2, 40, 50, 5, 61, type_vocab_size=2), "cls", [], True, F16, "gguf"),
    "nomic-gguf": ("nomic_bert", encoder(2, 48, 40, 3, 67, **rope(theta=1000.0)), "mean", [], True, F16, "gguf"),
    "qwen3-gguf": ("qwen3", QWEN | rope(theta=5000.0), "lasttoken", [], True, F16, "gguf"),
    "gemma-gguf": ("gemma3_text", GEMMA | layered_rope(rope(theta=1000.0), 10000.0), "mean",
                   [(50, False, False), (36, False, False)], True, F16, "gguf"),
}
CLASSES = {"bert": "BertModel", "xlm-roberta": "XLMRobertaModel", "nomic_bert": "NomicBertModel", "qwen3": "Qwen3Model",
           "gemma3_text": "Gemma3TextModel"}


# ---- tokenizers of few tokens, of each kind

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WRITTEN = ["a quick fox", "The  CAFÉ's menu, naïve \u00c5ngstr\u00f6m!", "hello\tworld\n\u6f22\u5b57 x\u6f22", "[MASK] and </s> <s> [SEP] the",
           "\u0130stanbul \ufb01ne \uff46\uff55\uff4c\uff4c e\u0301t\u00e9", "", " ", "zzz" * 10, "\u2581a b\u2581 c", "ing\u200bs \u00adthe\ufffdend ..."]


def special(tokens):
    return [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
            for i, t in tokens]


def around(first, last):
    parts = [{"SpecialToken": {"id": first, "type_id": 0}}] if first else []
    parts += [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": last, "type_id": 0}}]
    return parts


def template(tokens, first, last):
    named = {t: {"id": t, "ids": [tokens.index(t)], "tokens": [t]} for t in (first, last) if t}
    return {"type": "TemplateProcessing", "single": around(first, last), "pair": around(first, last), "special_tokens": named}


def wordpiece(size, cased):
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS, "the", "fox", "hello", "caf", "##e", "##s", "##ing", "##a", "##n",
              "\u6f22", "!", ",", "'", ".", "##\u00e9", "T", "##he", "##zzz", "z"]
    tokens = list(dict.fromkeys(tokens))[:size]
    tokens += [f"[unused{i}]" for i in range(size - len(tokens))]
    return {"added_tokens": special([(i, t) for i, t in enumerate(tokens[:5])]), "post_processor": template(tokens, "[CLS]", "[SEP]"),
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                           "lowercase": not cased},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                      "vocab": {t: i for i, t in enumerate(tokens)}}}, tokens, "[CLS]", "[SEP]", "[PAD]", "[UNK]"


def charsmap(pairs):
    """A precompiled map of characters: a double-array trie, its units laid out by trying bases one after the other."""
    trie, texts = {}, b""
    for source, target in pairs.items():
        node = trie
        for byte in source.encode():
            node = node.setdefault(byte, {})
        node[-1] = len(texts)
        texts += target.encode() + b"\0"
    units, taken = {0: 0}, {0}

    def place(node, at):
        labels = [0 if label == -1 else label for label in node]
        base = next(b for b in range(1, 1 << 20) if all(at ^ b ^ label not in taken for label in labels))
        units[at] |= base << 10 | (0x100 if -1 in node else 0)
        taken.update(at ^ base ^ label for label in labels)
        for label, child in node.items():
            if label == -1:
                units[at ^ base] = 0x80000000 | child
            else:
                units[at ^ base ^ label] = label
        for label, child in node.items():
            if label != -1:
                place(child, at ^ base ^ label)

    place(trie, 0)
    count = (max(units) + 256) // 256 * 256
    blob = b"".join(units.get(i, 0).to_bytes(4, "little") for i in range(count))
    return len(blob).to_bytes(4, "little") + blob + texts


def unigram(size):
    space = "\u2581"
    scored = [("<s>", 0), ("<pad>", 0), ("</s>", 0), ("<unk>", 0), (space, -2.5)]
    scored += [(letter, -5 - i / 10) for i, letter in enumerate(LETTERS)] + [(space + letter, -4.5 - i / 9) for i, letter in enumerate("acfhntw")]
    scored += [(space + "the", -3.25), ("ing", -3.5), (space + "fox", -4.125), ("hello", -6.5), ("\u00e9", -6), ("\u6f22", -7), (".", -4),
               (",", -4.25), ("...", -4.75), ("'s", -4.5), ("zz", -8)]
    scored = scored[:size] + [(f"<unused{i}>", -20 - i) for i in range(size - len(scored))]
    tokens = [t for t, _ in scored]
    pairs = {"\uff46": "f", "\uff55": "u", "\uff4c": "l", "\ufb01": "fi", "e\u0301": "\u00e9", "\t": " ", "\n": " ", "\u200b": " ", "\u2026": "...",
             "\u00ad": "", "\ufffd": " "}
    import base64
    return {"added_tokens": special([(i, t) for i, t in enumerate(tokens[:4])]), "post_processor": template(tokens, "<s>", "</s>"),
            "normalizer": {"type": "Sequence", "normalizers": [
                {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap(pairs)).decode()},
                {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
            "pre_tokenizer": {"type": "Metaspace", "replacement": space, "prepend_scheme": "always", "split": True},
            "model": {"type": "Unigram", "unk_id": 3, "vocab": scored, "byte_fallback": False}}, tokens, "<s>", "</s>", "<pad>", "<unk>"


def byte_level(size):
    tokens = ["<pad>", "<|endoftext|>", "<|im_end|>", *LETTERS, "\u0120", "th", "the", "\u0120a", "in", "ing"]
    tokens += [f"<unused{i}>" for i in range(size - len(tokens))]
    return {"added_tokens": special([(i, t) for i, t in enumerate(tokens[:3])]),
            "post_processor": {"type": "Sequence", "processors": [
                {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
                template(tokens, None, "<|endoftext|>")]},
            "normalizer": None, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            "model": {"type": "BPE", "vocab": {t: i for i, t in enumerate(tokens)}, "merges": ["t h", "th e", "\u0120 a", "i n", "in g"]}
            }, tokens, None, "<|im_end|>", "<pad>", None


def save_tokenizer(folder, kind, size):
    made = {"bert": lambda: wordpiece(size, False), "nomic_bert": lambda: wordpiece(size, True), "xlm-roberta": lambda: unigram(size),
            "qwen3": lambda: byte_level(size)}.get(kind)
    if not made:
        return False
    contents, tokens, first, last, padding, unknown = made()
    assert len(tokens) == size, (kind, len(tokens), size)
    write_json(f"{folder}/tokenizer.json", {"version": "1.0", "truncation": None, "padding": None, "decoder": None} | contents)
    named = {"bos_token": first, "eos_token": last, "pad_token": padding, "unk_token": unknown, "cls_token": first if kind != "qwen3" else None,
             "sep_token": last if kind != "qwen3" else None}
    write_json(f"{folder}/tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 50} |
               {key: value for key, value in named.items() if value})
    return True


def encoded(folder, kind):
    """What sentence-transformers makes of texts."""
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer
    model, tokenizer = SentenceTransformer(folder, device="cpu"), Tokenizer.from_file(f"{folder}/tokenizer.json")
    texts = ["the fox", "a thing in the hat", "hello"] if kind == "qwen3" else WRITTEN + (["z" * 101] if kind != "xlm-roberta" else [])
    vectors = model.encode(texts)
    return [{"text": text, "tokens": tokenizer.encode(text).ids, "embedding": [float(v) for v in vector]}
            for text, vector in zip(texts, vectors)]


def write_json(path, what):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        json.dump(what, out, indent=1)
        out.write("\n")


def save_folder(folder, model, pooling, dense, normalised, matrices):
    model.save_pretrained(folder)
    tensors = {}
    from safetensors.torch import load_file
    for name, weight in load_file(f"{folder}/model.safetensors").items():
        tensors[name] = weight.to(matrices if weight.dim() == 2 else F32).contiguous()
    save_file(tensors, f"{folder}/model.safetensors", metadata={"format": "pt"})
    modules = [("Transformer", ""), ("Pooling", "1_Pooling")]
    flags = {f"pooling_mode_{key}": key.startswith(pooling[:3]) and "sqrt" not in key for key in
             ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")}
    write_json(f"{folder}/1_Pooling/config.json", {"word_embedding_dimension": model.config.hidden_size, **flags})
    width = model.config.hidden_size
    for i, (weight, bias, tanh) in enumerate(dense):
        module = f"{i + 2}_Dense"
        modules.append(("Dense", module))
        write_json(f"{folder}/{module}/config.json",
                   {"in_features": width, "out_features": len(weight), "bias": bias is not None, "activation_function":
                    "torch.nn.modules." + ("activation.Tanh" if tanh else "linear.Identity")})
        parts = {"linear.weight": weight.to(matrices)} | ({} if bias is None else {"linear.bias": bias})
        save_file(parts, f"{folder}/{module}/model.safetensors")
        width = len(weight)
    if normalised:
        modules.append(("Normalize", f"{len(modules)}_Normalize"))
    write_json(f"{folder}/modules.json", [{"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
                                          for i, (kind, path) in enumerate(modules)])
    write_json(f"{folder}/sentence_bert_config.json", {"max_seq_length": 50, "do_lower_case": False})


def gguf_name(name):
    """What llama.cpp's converter calls a weight."""
    parts = {"embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
             "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm",
             "emb_ln": "token_embd_norm", "embed_tokens": "token_embd", "norm": "output_norm",
             "attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
             "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
             "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm",
             "attn.Wqkv": "attn_qkv", "attn.out_proj": "attn_output", "norm1": "attn_output_norm", "norm2": "layer_output_norm",
             "mlp.fc11": "ffn_up", "mlp.fc12": "ffn_gate", "mlp.fc2": "ffn_down",
             "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
             "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
             "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm"}
    head, suffix = name.rsplit(".", 1)
    layer = ""
    for prefix in ("encoder.layers.", "encoder.layer.", "layers."):
        if head.startswith(prefix):
            number, head = head.removeprefix(prefix).split(".", 1)
            layer = f"blk.{number}."
            break
    return layer, head, parts.get(head), suffix


def save_gguf(folder, model, kind, pooling, dense, matrices):
    import gguf

    scratch = folder + "/whole"
    model.save_pretrained(scratch)
    from safetensors.torch import load_file
    tensors = load_file(f"{scratch}/model.safetensors")
    shutil.rmtree(scratch)
    c = model.config
    arch = {"bert": "bert", "nomic_bert": "nomic-bert", "qwen3": "qwen3", "gemma3_text": "gemma-embedding"}[kind]
    w = gguf.GGUFWriter(f"{folder}/model.gguf", arch)
    w.add_context_length(c.max_position_embeddings)
    w.add_embedding_length(c.hidden_size)
    w.add_block_count(c.num_hidden_layers)
    w.add_feed_forward_length(c.intermediate_size)
    w.add_head_count(c.num_attention_heads)
    w.add_pooling_type({"mean": gguf.PoolingType.MEAN, "cls": gguf.PoolingType.CLS, "lasttoken": gguf.PoolingType.LAST}[pooling])
    if "bert" in kind:
        w.add_causal_attention(False)
        w.add_layer_norm_eps(c.layer_norm_eps)
        w.add_uint32("tokenizer.ggml.token_type_count", c.type_vocab_size)
    else:
        w.add_head_count_kv(c.num_key_value_heads)
        w.add_key_length(c.head_dim)
        w.add_value_length(c.head_dim)
        w.add_layer_norm_rms_eps(c.rms_norm_eps)
    if kind == "gemma3_text":
        w.add_rope_freq_base(c.rope_parameters["full_attention"]["rope_theta"])
        w.add_sliding_window(GEMMA["sliding_window"])
    elif kind != "bert":
        w.add_rope_freq_base(c.rope_parameters["rope_theta"])
    gemma_norms = {"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
                   "post_feedforward_layernorm": "post_ffw_norm"}
    for name, weight in tensors.items():
        layer, head, part, suffix = gguf_name(name)
        if head.startswith("pooler"):
            continue
        if not part:
            part = gemma_norms[head] if kind == "gemma3_text" else {"post_attention_layernorm": "ffn_norm"}[head]
        if kind == "gemma3_text" and weight.dim() == 1:
            weight = weight + 1
        data = weight.to(matrices if weight.dim() == 2 and part != "token_types" else F32)
        w.add_tensor(f"{layer}{part}.{suffix}", data.numpy())
    for i, (weight, _, _) in enumerate(dense):
        w.add_uint32(f"{arch}.dense_{i + 2}_feat_in", weight.shape[1])
        w.add_uint32(f"{arch}.dense_{i + 2}_feat_out", weight.shape[0])
        w.add_tensor(f"dense_{i + 2}.weight", weight.to(matrices).numpy())
    # a vocabulary, without which llama.cpp opens nothing
    w.add_tokenizer_model("bert" if "bert" in kind else "llama")
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"] + [f"\u2581t{i}" for i in range(c.vocab_size - 4)]
    w.add_token_list(tokens)
    w.add_token_types([3] * 4 + [1] * (c.vocab_size - 4))
    if "bert" not in kind:
        w.add_token_scores([0.0] * c.vocab_size)
    w.add_unk_token_id(1)
    w.add_bos_token_id(2)
    w.add_eos_token_id(3)
    w.add_sep_token_id(3)
    w.add_pad_token_id(0)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def make(name):
    kind, settings, pooling, layers, normalised, matrices, form = MODELS[name]
    config = transformers.AutoConfig.for_model(kind, **settings)
    torch.manual_seed(1)
    model = getattr(transformers, CLASSES[kind])(config, **({"add_pooling_layer": False} if "bert" in kind and kind != "bert" else {}))
    model.eval()
    random = torch.Generator().manual_seed(sum(map(ord, name)))
    with torch.no_grad():  # large enough for attention to choose
        for part, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=random)
            if weight.dim() == 2:
                wide = "embed" in part and kind != "gemma3_text"
                noise *= 0.5 if wide else 1.5 / weight.shape[1] ** 0.5
                weight.copy_(noise.to(matrices).float())
            else:  # gemma's norms multiply by one more than their weight
                weight.copy_(0.3 * noise + (1 if part.endswith("weight") and kind != "gemma3_text" else 0))
    dense, width = [], config.hidden_size
    for out, biased, tanh in layers:
        weight = (torch.randn(out, width, generator=random) / width ** 0.5).to(matrices)
        dense.append((weight.float(), torch.randn(out, generator=random) if biased else None, tanh))
        width = out
    folder = f"{HERE}/{name}"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    if form == "gguf":
        save_gguf(folder, model, kind, pooling, dense, matrices)
    else:
        save_folder(folder, model, pooling, dense, normalised, matrices)
    texts = []
    for length in LENGTHS:
        tokens = torch.randint(2, config.vocab_size, (1, length), generator=random)
        with torch.no_grad():
            rows = model.double()(input_ids=tokens, attention_mask=torch.ones_like(tokens)).last_hidden_state[0]
            y = {"mean": rows.mean(0), "cls": rows[0], "lasttoken": rows[-1]}[pooling]
            for weight, bias, tanh in dense:
                y = linear(y, weight.double(), None if bias is None else bias.double())
                y = torch.tanh(y) if tanh else y
            y = normalize(y, dim=0) if normalised else y
        texts.append({"tokens": tokens[0].tolist(), "embedding": [float(np.float32(v)) for v in y],
                      "row": [float(np.float32(v)) for v in rows[1]]})
    with_tokenizer = form == "folder" and not layers and save_tokenizer(folder, kind, config.vocab_size)
    golden = {"about": f"transformers {transformers.__version__}, torch {torch.__version__}, tools/fixtures_embedding.py",
              "texts": texts} | ({"encoded": encoded(folder, kind)} if with_tokenizer else {})
    with open(f"{folder}/golden.json", "w") as out:
        json.dump(golden, out)
        out.write("\n")
    print(f"{name}: {sum(os.path.getsize(os.path.join(r, f)) for r, _, fs in os.walk(folder) for f in fs) / 1000:.0f} kB")


for each in sys.argv[1:] or MODELS:
    make(each)
