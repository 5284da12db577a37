"""Takes the chat templates out of the packages that tools/setup.sh downloads.

    python3 tests/oracle/unpack_templates.py --package        the npm package with llama.cpp's repository
    python3 tests/oracle/unpack_templates.py FROM TO          from the packages in FROM into files of TO
"""
import glob
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import zipfile

PACKAGE = "node-llama-cpp@3.22.1"
SHA256 = "a0d9dd80eacd2ab1cfe71aee57ac8a806487fd70b3d2a38fbec637752d9e5c5f"


def write(folder, name, text):
    with open(os.path.join(folder, name), "wb") as f:
        f.write(text)


def from_wheel(path, folder):
    package = os.path.basename(path).split("-")[0]
    with zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            if name.endswith(".jinja"):
                write(folder, f"{package}-{os.path.basename(name)}", wheel.read(name))


def c_string(literals):
    """What C++ makes of string literals side by side."""
    text = ""
    for raw, plain in re.findall(r'R"\((.*?)\)"|"((?:[^"\\]|\\.)*)"', literals, re.S):
        text += raw or re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), plain)
    return text


def from_tests(source, folder):
    """The templates that llama.cpp's own test has as strings."""
    pattern = r'/\* \.name= \*/ "((?:[^"\\]|\\.)*)",\s*/\* \.template_str= \*/ (?:u8)?((?:R"\(.*?\)"|"(?:[^"\\]|\\.)*"|\s)+),'
    for name, literals in re.findall(pattern, source, re.S):
        name = re.sub(r"[^A-Za-z0-9.]+", "-", name)[:50].strip("-")
        write(folder, f"test-{name}.jinja", c_string(literals).encode())


def from_llama(path, work, folder):
    with open(path, "rb") as f:
        if hashlib.sha256(f.read()).hexdigest() != SHA256:
            sys.exit(f"{path} is not {PACKAGE}")
    with tarfile.open(path) as package:
        bundle = package.extractfile("package/llama/gitRelease.bundle").read()
    write(work, "llama.bundle", bundle)
    repository = os.path.join(work, "llama.git")

    def git(*args):
        return subprocess.run(["git", "--git-dir", repository, *args], check=True, capture_output=True).stdout

    git("init", "-q", "--bare")
    git("fetch", "-q", os.path.abspath(os.path.join(work, "llama.bundle")), "HEAD")
    for name in git("ls-tree", "-r", "--name-only", "FETCH_HEAD", "models/templates").decode().split():
        if name.endswith(".jinja"):
            write(folder, os.path.basename(name), git("show", f"FETCH_HEAD:{name}"))
    from_tests(git("show", "FETCH_HEAD:tests/test-chat-template.cpp").decode(), folder)


def main():
    if sys.argv[1] == "--package":
        print(PACKAGE)
        return
    source, target = sys.argv[1:]
    os.makedirs(target, exist_ok=True)
    for path in glob.glob(os.path.join(source, "*.whl")):
        from_wheel(path, target)
    for path in glob.glob(os.path.join(source, "*.tgz")):
        from_llama(path, source, target)


main()
