#!/usr/bin/env python3
"""include/solo.h as the Python package needs it: python3 tools/python_declarations.py OUT.py

Writes a module with `ffi`, by cffi, which the package imports in place of the header. CC is the C compiler.
"""
import contextlib
import os
import re
import subprocess
import sys

import cffi

with open("include/solo.h", encoding="utf-8") as f:
    header = re.sub(r"^\s*#\s*include.*$", "", f.read(), flags=re.M)
text = subprocess.run([*os.environ.get("CC", "cc").split(), "-E", "-P", "-x", "c", "-"], input=header, text=True,
                      capture_output=True, check=True).stdout
builder = cffi.FFI()
builder.cdef("\n".join(line for line in text.splitlines() if not line.startswith("#")))
builder.set_source("solo._declarations", None)
os.makedirs(os.path.dirname(sys.argv[1]) or ".", exist_ok=True)
with contextlib.redirect_stdout(None):  # it says what it does
    builder.emit_python_code(sys.argv[1])
