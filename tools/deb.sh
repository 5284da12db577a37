#!/bin/sh
# deb.sh BUILD VERSION [CHROOT]: Debian packages from the archive of `make dist`, into BUILD/deb. With CHROOT, a folder with a
# Debian system (mmdebstrap --variant=buildd), they are built in there, without a network.
set -eu
build=$1 version=$2 chroot=${3:-}
archive=$build/dist/solo-$version.tar.gz
rm -rf "$build/deb"
mkdir -p "$build/deb"
work=$build/deb
[ -z "$chroot" ] || { work=$chroot/build && rm -rf "$work" && mkdir "$work"; }
cp "$archive" "$work/solo_$version.orig.tar.gz"
tar xzf "$archive" -C "$work"
if [ -n "$chroot" ]; then
    unshare --net chroot "$chroot" sh -c "cd /build/solo-$version && dpkg-buildpackage -us -uc -b"
    cp "$work"/*.deb "$work"/*.buildinfo "$work"/*.changes "$build/deb/"
else
    (cd "$work/solo-$version" && dpkg-buildpackage -us -uc)
    rm -rf "$work/solo-$version"
fi
echo "$build"/deb/*.deb
