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
echo "$build/npm/$(npm pack --silent --offline --ignore-scripts --pack-destination ..)"
