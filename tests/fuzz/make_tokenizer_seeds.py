#!/usr/bin/env python3
"""Writes the inputs that fuzzing tokenizers starts from: tests/fuzz/corpus/tokenizer_gguf/* and
tests/fuzz/corpus/tokenizer_json/*, small vocabularies of each kind.

    python3 tests/fuzz/make_tokenizer_seeds.py
"""
import json
import os

from make_seeds import BOOL, F32, I32, TEXT, U32, array, gguf, scalar

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")


def save(kind, name, content):
    os.makedirs(os.path.join(CORPUS, kind), exist_ok=True)
    with open(os.path.join(CORPUS, kind, name), "wb") as f:
        f.write(content)


def keys(**values):
    return [("tokenizer.ggml." + key, value) for key, value in values.items()]


save("tokenizer_gguf", "bpe", gguf(keys(
    model=scalar(TEXT, "gpt2"), pre=scalar(TEXT, "llama-bpe"),
    tokens=array(TEXT, ["a", "b", "Ġ", "ab", "Ġa", "Ġab", "<|end|>", "<s>", "1", "é"]),
    token_type=array(I32, [1, 1, 1, 1, 1, 1, 3, 3, 1, 4]), merges=array(TEXT, ["a b", "Ġ a", "Ġ ab", "Ġa b"]),
    bos_token_id=scalar(U32, 7), eos_token_id=scalar(U32, 6), add_bos_token=scalar(BOOL, True))))
save("tokenizer_gguf", "spm", gguf([("general.name", scalar(TEXT, "phi-3"))] + keys(
    model=scalar(TEXT, "llama"), tokens=array(TEXT, ["<unk>", "<s>", "</s>", "<0x0A>", "<0xC3>", "▁", "a", "b", "▁a", "ab", "a b"]),
    scores=array(F32, [0, 0, 0, 0, 0, -1, -2, -3, -1.5, -2.5, 0]), token_type=array(I32, [2, 3, 3, 6, 6, 1, 1, 1, 1, 1, 4]),
    add_space_prefix=scalar(BOOL, True), unknown_token_id=scalar(U32, 0))))


def files(*contents):
    return b"\0".join(json.dumps(c, ensure_ascii=False).encode() for c in contents)


def added(id, content, **more):
    return {"id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": True, **more}


def vocab(tokens):
    return {token: i for i, token in enumerate(tokens)}


BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
LETTERS = vocab(["a", "b", "Ġ", "ab", "Ġa", "é", "1", "Ã", "©"])
SPACED = vocab(["<unk>", "<s>", "</s>", "<0x0A>", "<0xC3>", "<0xA9>", "▁", "a", "b", "▁a", "ab"])
CONFIG = {"bos_token": {"content": "<s>"}, "eos_token": "</s>", "add_bos_token": True, "model_max_length": 10**30}

save("tokenizer_json", "bytes", files(
    {"added_tokens": [added(9, "<|end|>", rstrip=True), added(10, "<s>", lstrip=True), added(11, "ab", special=False)],
     "normalizer": {"type": "NFC"}, "pre_tokenizer": BYTES, "post_processor": None,
     "model": {"type": "BPE", "vocab": LETTERS, "merges": ["a b", "Ġ a"]}}, CONFIG, {"eos_token_id": [9, 3]}))
save("tokenizer_json", "pattern", files(
    {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": LLAMA3}, "behavior": "Isolated", "invert": False},
        {**BYTES, "use_regex": False}]},
     "post_processor": {"type": "Sequence", "processors": [{"type": "TemplateProcessing", "single": [
         {"SpecialToken": {"id": "a", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]}]},
     "model": {"vocab": LETTERS, "merges": [["a", "b"], ["Ġ", "a"]], "ignore_merges": True}}))
save("tokenizer_json", "spaces", files(
    {"added_tokens": [added(1, "<s>", normalized=True), added(2, "</s>", rstrip=True)],
     "normalizer": {"type": "Sequence", "normalizers": [
         {"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
     "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True, "vocab": SPACED,
               "merges": ["▁ a", "a b"]}}, CONFIG, {"eos_token_id": 2}))
save("tokenizer_json", "metaspace", files(
    {"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True},
     "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": False, "vocab": SPACED, "merges": ["▁ a"]}}))
save("tokenizer_json", "wordpiece", files(
    {"added_tokens": [added(1, "[CLS]"), added(2, "[SEP]"), added(9, "ab", normalized=True, special=False)],
     "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
     "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
     "model": {"type": "WordPiece", "unk_token": "[UNK]", "max_input_chars_per_word": 8,
               "vocab": vocab(["[UNK]", "[CLS]", "[SEP]", "a", "##b", "hello", "##e", "e", "漢"])}}))
MAP = "MAAAAAAIAAACAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABhAA=="
SCORED = [["<unk>", 0], ["<s>", 0], ["</s>", 0], ["▁", -2.5], ["a", -3], ["▁a", -2], ["b", -4], ["ab", -4.5], ["é", -5]]
save("tokenizer_json", "unigram", files(
    {"added_tokens": [added(1, "<s>"), added(2, "</s>")],
     "normalizer": {"type": "Sequence", "normalizers": [
         {"type": "Precompiled", "precompiled_charsmap": MAP}, {"type": "Strip", "strip_left": False, "strip_right": True},
         {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
     "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
         {"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}]},
     "model": {"type": "Unigram", "unk_id": 0, "vocab": SCORED, "byte_fallback": True}}, CONFIG))
save("tokenizer_gguf", "wordpiece", gguf(keys(
    model=scalar(TEXT, "bert"), tokens=array(TEXT, ["[UNK]", "[CLS]", "[SEP]", "▁a", "b", "▁hello", "e", "▁e", "▁漢"]),
    token_type=array(I32, [2, 3, 3, 1, 1, 1, 1, 1, 1]), unknown_token_id=scalar(U32, 0), cls_token_id=scalar(U32, 1),
    seperator_token_id=scalar(U32, 2))))
save("tokenizer_gguf", "unigram", gguf(keys(
    model=scalar(TEXT, "t5"), tokens=array(TEXT, [t for t, _ in SCORED]), scores=array(F32, [s for _, s in SCORED]),
    token_type=array(I32, [2, 3, 3, 1, 1, 1, 1, 4, 1]), unknown_token_id=scalar(U32, 0), bos_token_id=scalar(U32, 1),
    eos_token_id=scalar(U32, 2), add_space_prefix=scalar(BOOL, True), remove_extra_whitespaces=scalar(BOOL, True),
    precompiled_charsmap=array(I32, [8, 0, 0, 0, 0, 4, 0, 0, 97, 1, 0, 0, 98, 0]))))
