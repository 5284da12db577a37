#!/bin/sh
# The packages for Debian and Python in empty systems (mmdebstrap, as root), as their users have them: the Debian packages are
# built from the archive of `make dist` in one without a network, then installed, used and removed in another, which has what
# they depend on, software Vulkan and a C compiler; there the wheel is, too. Run by `make test-packages`. A line per test.
set -u
build=${BUILD:-build} native=${SOLO:-build/solo}
systems=$PWD/$build/packages
builder=$systems/builder empty=$systems/empty user=$systems/user log=$systems/log
if [ "$(id -u)" != 0 ] || ! command -v mmdebstrap >/dev/null; then
    echo "skip packages (needs root and mmdebstrap)"
    exit 0
fi
mkdir -p "$systems"
ok() { # NAME COMMAND...
    name=$1
    shift
    if "$@" >"$log" 2>&1; then echo "ok $name"; else echo "not ok $name"; tail -n 12 "$log" | sed 's/^/# /'; return 1; fi
}
system() { # FOLDER OPTION...: an empty Debian 12, kept for the next time
    folder=$1
    shift
    [ ! -e "$folder/.done" ] || return 0
    rm -rf "$folder"
    mmdebstrap --mode=root --setup-hook='sh tools/backports.sh bookworm "$1"' "$@" bookworm "$folder" && : >"$folder/.done"
}
user_of() { # FOLDER: one to install into, anew each time
    rm -rf "$user"
    cp -a "$1" "$user" && mkdir "$user/try"
}
inside() { unshare --net chroot "$user" env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LC_ALL=C.UTF-8 "$@"; }
says() { # TEXT COMMAND...: its output has the text
    wanted=$1
    shift
    "$@" >"$log.out" 2>&1
    cat "$log.out"
    grep -qF -- "$wanted" "$log.out"
}
# (the entry of backports was made before them)
nothing_left() { ! find "$user/usr" "$user/etc" \( -path '*/python3*' -o -path '*/sources.list.d' \) -prune -o -name '*solo*' -print | grep .; }

ok "a system to build in" system "$builder" --variant=buildd \
    --include=debhelper,libcurl4-openssl-dev,libedit-dev,libjansson-dev,libmicrohttpd-dev,libsqlite3-dev,libvulkan-dev || exit 0
ok "dpkg-buildpackage in it, without a network" sh tools/deb.sh "$build" "$VERSION" "$builder" || exit 0
ok "an empty system" system "$empty" --variant=minbase \
    --include=gcc,libc6-dev,libjansson-dev,libvulkan1,mesa-vulkan-drivers/bookworm-backports,pkg-config,python3-cffi,python3-numpy,python3-pip || exit 0
ok "a copy of it" user_of "$empty" || exit 0
cp "$build"/deb/solo_*.deb "$build"/deb/libsolo0_*.deb "$build"/deb/libsolo-dev_*.deb "$build"/wheel/*.whl examples/logits.c "$user/try/"
# as any container has them; Dawn counts the processors there
trap 'umount "$user/proc" "$user/sys"' EXIT
mount --bind /proc "$user/proc" && mount --bind /sys "$user/sys"

ok "the Debian packages install" inside sh -c 'dpkg -i /try/*.deb'
ok "the version" says "solo $VERSION" inside solo --version
ok "the Vulkan control is there" says llvmpipe inside solo info
text=$("$native" run -p "Once upon a time" -n 12 --temp 0 --fuse ops 2>/dev/null)
ok "the native run's text, on the Vulkan control" says "$text" inside solo run -p "Once upon a time" -n 12 --temp 0 --fuse ops --impl vulkan
ok "a record of the laboratory" inside solo bench dispatch --impl stub --quick --rounds 2 --json /try/record.json
ok "manual page and completion" test -s "$user/usr/share/man/man1/solo.1.gz" -a -s "$user/usr/share/bash-completion/completions/solo"
ok "a server without libmicrohttpd says what is missing" says libmicrohttpd inside solo serve --port 0 --impl vulkan

ok "the wheel installs" inside sh -c 'python3 -m pip install --quiet --no-index --no-deps --break-system-packages /try/*.whl'
ok "a model in Python, with the wheel's Dawn" says "$text" inside python3 -c '
import solo
print("Once upon a time" + solo.Model().generate("Once upon a time", 12))'
ok "a simulation in Python" says "(4,)" inside python3 -c 'import solo; print(solo.Sim("cartpole", population=4).run().scores.shape)'

ok "a C program with libsolo-dev" inside sh -c 'cc /try/logits.c -o /try/logits $(pkg-config --cflags --libs solo) -lm'
dawn=$(cd "$user" && find usr -name 'libwebgpu_dawn*.so*' | head -n 1)
ok "it runs with the library, and Dawn where SOLO_DAWN says" says '%' inside "SOLO_DAWN=/$dawn" /try/logits "Once upon a"
ok "so does the program" says "$text" inside "SOLO_DAWN=/$dawn" solo run -p "Once upon a time" -n 12 --temp 0 --fuse ops --impl dawn

ok "they are removed" inside dpkg --purge libsolo-dev libsolo0 solo
ok "nothing of them is left" nothing_left
