#!/bin/sh
# npm_package.sh FOLDER: FOLDER/web without the page as a package for npm, FOLDER/npm/solo-gpu-VERSION.tgz. web/package.json
# names what is in it.
set -eu
build=$1 package=$1/npm/package
rm -rf "$build/npm"
mkdir -p "$package"
cp LICENSE "$package/"
cp web/README.md "$package/"
cp "$build"/web/package.json "$package/"
node -e 'console.log(JSON.parse(require("fs").readFileSync(process.argv[1])).files.join("\n"))' web/package.json |
    while read -r file; do cp "$build/web/$file" "$package/"; done
cd "$package"
# npm wants a folder of its own even so, and the home may be one that cannot be written
name=$(npm pack --silent --offline --ignore-scripts --cache ../cache --pack-destination ..)
rm -rf ../cache
[ -s "../$name" ] || { echo "npm_package.sh: npm pack made no package" >&2; exit 1; }
echo "$build/npm/$name"
