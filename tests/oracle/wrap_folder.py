#!/usr/bin/env python3
"""A folder as that of a model which also sees: its configuration as text_config, its weights behind a prefix, and a
tower of its own beside them.

    tests/oracle/wrap_folder.py FOLDER OUT PREFIX TOWER"""
import json
import os
import struct
import sys

folder, out, prefix, tower = sys.argv[1:]
os.makedirs(out)
with open(os.path.join(folder, "config.json")) as f:
    config = json.load(f)
with open(os.path.join(out, "config.json"), "w") as f:
    json.dump({"model_type": "gemma3", "text_config": config, "vision_config": {"model_type": "siglip_vision_model"}}, f)
with open(os.path.join(folder, "model.safetensors"), "rb") as f:
    (length,) = struct.unpack("<Q", f.read(8))
    header, data = json.loads(f.read(length)), f.read()
header = {name.replace("model.", prefix, 1): place for name, place in header.items()}
header[tower] = {"dtype": "F32", "shape": [2], "data_offsets": [len(data), len(data) + 8]}
text = json.dumps(header).encode()
with open(os.path.join(out, "model.safetensors"), "wb") as f:
    f.write(struct.pack("<Q", len(text)) + text + data + bytes(8))
