#!/usr/bin/env python3
"""Makes the built-in model's tokenizer from a text of tales, and the tales as tokens.

    pip install -r tools/train/requirements.txt
    python3 tools/train/make_tokenizer.py ../shared/corpus/tales.txt build/train

The text has a paragraph in each line and an empty line between tales. Written:

    tokenizer.json  Hugging Face's format: byte-level BPE, cut into words as gpt-2 does
    tokens.u16      every tale as <s> paragraphs </s>: those to train on, then those held out
    data.json       how many tokens that is, the bytes of each token, beginnings for samples

A tale is in one of the two parts as a whole. Both are shuffled, always the same way.
"""
import argparse
import json
import os
import random
import re

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

BOS, EOS = "<s>", "</s>"
HELD_OUT_EVERY = 50  # tales
SEED = 1812
# what a training run writes samples from; it has no tokenizer of its own
PROMPTS = ["Once upon a time", "There was once a king who had", "Peter Rabbit", '"Who are you?" asked', ""]


def read_tales(path):
    """Tales as they are to be told: no asides of the editor, no stray spaces."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    tales = []
    for tale in re.split(r"\n\s*\n", text):
        lines = [" ".join(line.split()) for line in tale.split("\n")]
        lines = [line for line in lines if line and not (line[0] == "(" and line[-1] == ")")]
        if lines:
            tales.append("\n".join(lines))
    random.Random(SEED).shuffle(tales)
    return tales


def train_tokenizer(tales, vocab):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab,
        special_tokens=[BOS, EOS],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),  # any text can be written
        show_progress=False,
    )
    tokenizer.train_from_iterator(tales, trainer)
    return tokenizer


def byte_of_letter():
    """The letter that byte-level BPE writes for each byte, backwards."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + i): byte for i, byte in enumerate(other)}


def encode(tokenizer, tales):
    bos, eos = tokenizer.token_to_id(BOS), tokenizer.token_to_id(EOS)
    ids = []
    for encoding in tokenizer.encode_batch(tales):
        ids += [bos, *encoding.ids, eos]
    return np.array(ids, dtype="<u2")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("text")
    arguments.add_argument("folder")
    arguments.add_argument("--vocab", type=int, default=4096)
    args = arguments.parse_args()

    tales = read_tales(args.text)
    held_out = tales[::HELD_OUT_EVERY]
    train = [tale for i, tale in enumerate(tales) if i % HELD_OUT_EVERY]
    tokenizer = train_tokenizer(train, args.vocab)
    train_ids, held_out_ids = encode(tokenizer, train), encode(tokenizer, held_out)

    letters = byte_of_letter()
    pieces = [tokenizer.id_to_token(i) for i in range(tokenizer.get_vocab_size())]
    pieces = ["" if piece in (BOS, EOS) else bytes(letters[c] for c in piece).hex() for piece in pieces]
    os.makedirs(args.folder, exist_ok=True)
    tokenizer.save(os.path.join(args.folder, "tokenizer.json"))
    np.concatenate([train_ids, held_out_ids]).tofile(os.path.join(args.folder, "tokens.u16"))
    data = {
        "vocab": len(pieces),
        "bos": tokenizer.token_to_id(BOS),
        "eos": tokenizer.token_to_id(EOS),
        "train_tales": len(train),
        "train_tokens": len(train_ids),
        "train_bytes": sum(len(tale.encode()) for tale in train),
        "held_out_tales": len(held_out),
        "held_out_tokens": len(held_out_ids),
        "held_out_bytes": sum(len(tale.encode()) for tale in held_out),
        "prompts": [[prompt, tokenizer.encode(prompt).ids] for prompt in PROMPTS],
        "pieces_hex": pieces,
    }
    with open(os.path.join(args.folder, "data.json"), "w", encoding="utf-8") as file:
        json.dump(data, file)
    print({key: value for key, value in data.items() if key != "pieces_hex"})


if __name__ == "__main__":
    main()
