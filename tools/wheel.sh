#!/bin/sh
# tools/wheel.sh BUILD VERSION: a wheel of the Python package in BUILD/wheel, with libsolo and Dawn inside, for every Python
# from 3.11 on and every Linux with a C library as new as the one here. Called by `make wheel`.
set -eu
build=$1
export SOLO_VERSION="$2"
tools=$PWD/deps/wheel
lock=$(sha256sum <tools/requirements-wheel.txt | cut -d ' ' -f 1)
if [ "$(cat deps/.wheel 2>/dev/null)" != "$lock" ]; then
    echo "setup: installing what makes a wheel (pip)"
    rm -rf "$tools"
    python3 -m pip install -q --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: --no-compile \
        --target "$tools" -r tools/requirements-wheel.txt
    echo "$lock" >deps/.wheel
fi
sh tools/python_package.sh "$build"
# in place of the links: the libraries themselves, without what only a debugger reads; of the WebGPU libraries, Dawn
lib=$build/python/solo/lib
strip -o "$lib/.stripped" "$build/libsolo.so.0"
mv -f "$lib/.stripped" "$lib/libsolo.so.0"
dawn=$(realpath "$lib/solo/libwebgpu_dawn.so")
rm -f "$lib"/solo/*
strip -o "$lib/solo/libwebgpu_dawn.so" "$dawn"
chmod 755 "$lib/libsolo.so.0" "$lib/solo/libwebgpu_dawn.so"
rm -rf "$build/wheel"
export PYTHONPATH="$tools" PATH="$tools/bin:$PATH"
(cd "$build/python" && python3 -c 'from setuptools import build_meta; build_meta.build_wheel("../wheel-plain")' >../wheel.log 2>&1) ||
    { tail -n 3 "$build/wheel.log" >&2; exit 1; }
python3 -m auditwheel repair --strip -w "$build/wheel" "$build"/wheel-plain/*.whl >"$build/wheel.log" 2>&1 ||
    { tail -n 3 "$build/wheel.log" >&2; exit 1; }
rm -rf "$build/wheel-plain"
for wheel in "$build"/wheel/*.whl; do
    echo "$wheel, $(($(wc -c <"$wheel") / 1000000)) MB"
done
