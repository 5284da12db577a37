#!/usr/bin/env python3
"""Writes src/graph/type_iq_tables.c: the grids of the I types, two or three bits a weight, from PyPI's gguf.

    pip install gguf && python3 tools/iq_tables.py > src/graph/type_iq_tables.c
"""
import gguf.quants
import numpy as np

GRIDS = [("iq2_xxs", "IQ2_XXS", 2, (8, 25, 43)), ("iq2_xs", "IQ2_XS", 2, (8, 25, 43)), ("iq2_s", "IQ2_S", 2, (8, 25, 43)),
         ("iq3_xxs", "IQ3_XXS", 3, (4, 12, 20, 28, 36, 44, 52, 62)), ("iq3_s", "IQ3_S", 3, (1, 3, 5, 7, 9, 11, 13, 15)),
         ("iq1", "IQ1_S", 2, (-1, 0, 1))]

print("/* type_iq_tables: the grids of the I types, one entry of 16 bits each, the first weight lowest; type_iq.h says what the\n"
      " * bits mean. Made by tools/iq_tables.py. */\n#include \"graph/type_iq.h\"\n")
for name, theirs, bits, values in GRIDS:
    kind = getattr(gguf.quants, theirs)
    kind.init_grid()
    grid = kind.grid.reshape(kind.grid_shape).astype(int)
    codes = np.searchsorted(values, grid)
    assert (np.array(values)[codes] == grid).all()
    entries = (codes << (bits * np.arange(grid.shape[1]))).sum(axis=1)
    lines, line = [], "   "
    for n in entries:
        word = f" {n},"
        if len(line) + len(word) > 120:
            lines.append(line)
            line = "   "
        line += word
    print(f"const uint16_t {name}_grid[{len(entries)}] = {{\n" + "\n".join(lines + [line]) + "\n};")
