#!/bin/bash
# Installs what was built for the tests into a folder of its own, and builds a program against it
# the way a packager does: with pkg-config alone.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

make -s install-files FROM="${CARGO_TARGET_DIR:-target}/debug" PREFIX=/opt/seconder DESTDIR="$root"
export PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_PATH=$root/opt/seconder/lib/pkgconfig
cat >"$root/version.c" <<'C'
#include <seconder.h>
#include <stdio.h>
#include <string.h>
int main(void) {
    puts(seconder_version());
    return strcmp(seconder_version(), SECONDER_VERSION);
}
C
flags=$(pkg-config --cflags --libs seconder)
# shellcheck disable=SC2086
cc "$root/version.c" -o "$root/version" $flags
LD_LIBRARY_PATH=$root/opt/seconder/lib "$root/version"
# shellcheck disable=SC2046
cc "$root/version.c" -o "$root/static" $(pkg-config --cflags seconder) \
    "$root/opt/seconder/lib/libseconder.a" $(pkg-config --static --libs-only-l seconder | sed 's/-lseconder//')
"$root/static"
"$root/opt/seconder/bin/seconder" --version
