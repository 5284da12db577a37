#!/bin/sh
# The Python package (tests/python), where there is a Python with what it needs.
# Prints a line per test: `ok NAME`, `not ok NAME why`, `skip NAME why`.
set -u
build=$(dirname "${SOLO:-build/solo}")
export PYTHONPATH="$PWD/deps/python" PYTHONDONTWRITEBYTECODE=1
case $build in *-san) echo "skip python (a library with sanitizers cannot be loaded by another program)"; exit 0 ;; esac
if ! python3 -c 'import sys, cffi, numpy; assert sys.version_info >= (3, 11)' 2>/dev/null; then
    echo "skip python (no python3 of 3.11 or newer with cffi and numpy)"
    exit 0
fi
if ! sh tools/python_package.sh "$build"; then
    echo "not ok python_package"
    exit 1
fi
export PYTHONPATH="$PWD/$build/python:$PYTHONPATH"
case $build in /*) PYTHONPATH="$build/python:$PWD/deps/python" ;; esac
exec python3 tests/python/run.py "$@"
