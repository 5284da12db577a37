#!/usr/bin/env python3
"""Compares `solo tokenize` with llama.cpp's tokenizer on random strings, for the vocabulary of a GGUF file.

    tests/oracle/llama_tokens.py MODEL.gguf [COUNT] [SOLO]

With a WordPiece vocabulary, strings have no Hangul and no vowel signs: there llama.cpp takes more apart, and drops more of
it, than the models' own tokenizer, which Solo follows."""
import ctypes
import os
import random
import subprocess
import sys
import unicodedata

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import llama_cpp  # noqa: E402

WORDPIECE = 3  # as llama.cpp numbers vocabularies
WORDS = ("the quick brown fox jumps over lazy dog Hello world HELLO camelCase don't naïve café façade Größe straße señor "
         "Привет мир 漢字 日本語 こんにちは カタカナ 안녕하세요 العربية שלום हिन्दी ไทย Ελληνικά Việt Nam ½ ² 3.14159 1,000,000 "
         "$5.00 €20 C++ ... «quotes» ﬁn Å Ω ｆｕｌｌ ①② ™ ## ▁ _ x=y+1; don't").split(" ")
SPACES = [" ", "  ", "   ", "\n", "\t", "\r\n", "\u00a0", "\u3000", ""]
RANGES = [(0x20, 0x7e), (0x20, 0x7e), (0xa1, 0x17f), (0x391, 0x3c9), (0x410, 0x44f), (0x5d0, 0x5ea), (0x621, 0x64a), (0x905, 0x939),
          (0x3041, 0x3096), (0x30a1, 0x30fa), (0x4e00, 0x9fa5), (0xac00, 0xd7a3), (0xff01, 0xff5e), (0x1f600, 0x1f64f), (0x300, 0x345)]


def differs(text):
    return any(0xac00 <= ord(c) <= 0xd7a3 or unicodedata.category(c) in ("Mc", "Me") or 0x900 <= ord(c) <= 0x97f for c in text)


def piece():
    kind = random.randrange(4)
    if kind < 2:
        return random.choice(WORDS) + random.choice(SPACES)
    low, high = random.choice(RANGES)
    return "".join(chr(random.randint(low, high)) for _ in range(random.randint(1, 5))) + random.choice(SPACES)


def main():
    path, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    solo = sys.argv[3] if len(sys.argv) > 3 else "build/solo"
    random.seed(11)
    texts = WORDS + ["".join(piece() for _ in range(random.randint(1, 12))) for _ in range(count)]
    try:
        with llama_cpp.Model(llama_cpp.find_libraries(), path, vocabulary_only=True) as m:
            if m.library.llama.llama_vocab_type(ctypes.c_void_p(m.vocabulary)) == WORDPIECE:
                texts = [text for text in texts if not differs(text)]
            right = [list(m.tokenize(text)) for text in texts]
    except llama_cpp.LlamaError as e:
        llama_cpp.fail(e)
    run = subprocess.run([solo, "tokenize", "-0", path], input=b"".join(t.encode() + b"\0" for t in texts), capture_output=True)
    got = [[int(i) for i in line.split()] for line in run.stdout.decode().split("\n")[:-1]]
    wrong = [(t, a, b) for t, a, b in zip(texts, got, right) if a != b]
    print(f"{len(texts)} texts, {len(wrong)} with other tokens {run.stderr.decode()}")
    for text, a, b in wrong[:5]:
        print(ascii(text), a, b, sep="\n  ")
    sys.exit(bool(wrong) or len(got) != len(texts))


main()
