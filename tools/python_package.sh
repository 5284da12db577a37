#!/bin/sh
# tools/python_package.sh BUILD: the Python package as it can be imported, in BUILD/python, with BUILD/libsolo.so.0 and the
# WebGPU libraries of deps/lib as links. PYTHON (python3) must have cffi; deps/python, which the tests use, has it.
set -eu
build=$1
python=${PYTHON:-python3}
to=$build/python/solo
PYTHONPATH=$PWD/deps/python${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH
rm -rf "$build/python"
mkdir -p "$to/lib/solo"
cp -R python/. "$build/python/"
cp LICENSE "$build/python/"
"$python" tools/python_declarations.py "$to/_declarations.py"
ln -s "$(realpath "$build")/libsolo.so.0" "$to/lib/libsolo.so.0"
for library in deps/lib/*.so; do
    [ ! -e "$library" ] || ln -s "$(realpath "$library")" "$to/lib/solo/"
done
