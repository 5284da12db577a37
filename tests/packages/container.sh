#!/bin/sh
# The container, built from the Dockerfile by buildah on a base that mmdebstrap makes (no registry is asked), and used as its
# users do. What a proxy's certificates need is given where this system has some. Run as root by `make test-packages`.
set -u
systems=$PWD/${BUILD:-build}/packages native=${SOLO:-build/solo}
log=$systems/container.log trust=/usr/local/share/ca-certificates image=docker.io/library/debian:bookworm-slim
if [ "$(id -u)" != 0 ] || ! command -v mmdebstrap >/dev/null || ! command -v buildah >/dev/null; then
    echo "skip container (needs root, mmdebstrap and buildah)"
    exit 0
fi
mkdir -p "$systems"
# the folders of buildah and its way to run commands need no more than root here
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
b() { buildah --root "$systems/images" --runroot "$systems/running" "$@"; }
ok() { # NAME COMMAND...
    name=$1
    shift
    if "$@" >"$log" 2>&1; then echo "ok $name"; else echo "not ok $name"; tail -n 12 "$log" | sed 's/^/# /'; return 1; fi
}
base() {
    mmdebstrap --mode=root --variant=minbase --include=ca-certificates bookworm "$systems/base.tar" &&
        c=$(b from scratch) && b add -q "$c" "$systems/base.tar" / && b commit -q "$c" "$image" && b rm "$c"
}
says() { # TEXT COMMAND...: its output has the text
    wanted=$1
    shift
    "$@" >"$log.out" 2>&1
    cat "$log.out"
    grep -qF -- "$wanted" "$log.out"
}

b inspect --type image "$image" >/dev/null 2>&1 || ok "a base for containers" base || exit 0
rm -rf "$systems/context"
mkdir "$systems/context"
git archive HEAD | tar x -C "$systems/context"
ok "the container builds" b bud --layers --pull-never --network host -v "$trust:$trust:ro" -t solo "$systems/context" || exit 0
c=$(b from --pull-never solo)
text=$("$native" run -p "Once upon a time" -n 12 --temp 0 --fuse ops 2>/dev/null)
ok "its program has the version" says "solo " b run "$c" -- solo --version
ok "it has both WebGPU libraries" says wgpu b run "$c" -- solo info
ok "the native run's text in it" says "$text" b run "$c" -- solo run -p "Once upon a time" -n 12 --temp 0 --fuse ops
b rm "$c" >/dev/null
