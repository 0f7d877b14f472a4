#!/bin/bash
# Makes the Debian packages of what was built for the tests, looks into them, and, as root, installs
# them, builds and runs a program against them, and removes them.
set -euo pipefail
cd "$(dirname "$0")/.."
# What dpkg says is looked at.
export LC_ALL=C
skip() {
    echo "skipped: the Debian packages, because $*"
    exit 0
}
fail() {
    echo "tests/deb.sh: $*" >&2
    exit 1
}
command -v dpkg-deb >/dev/null || skip "there is no dpkg-deb on this machine"

packages=(libseconder0 libseconder-dev seconder)
work=$(mktemp -d)
installed=
clean() {
    rm -rf "$work"
    [ -z "$installed" ] || with_lock dpkg -P "${packages[@]}" >/dev/null
}
trap clean EXIT

# Somebody else may be installing something right now.
with_lock() {
    local said
    for _ in {1..60}; do
        said=$("$@" 2>&1) && return
        [[ $said == *lock* ]] || break
        sleep 2
    done
    fail "$* said: $said"
}

# The debug build is large and nobody keeps these, so they are packed lightly.
packaging/deb.sh "${CARGO_TARGET_DIR:-target}/debug" "$work" -Zgzip -z1 >/dev/null
triplet=$(gcc -print-multiarch)
has() { # a package, and files that must be in it
    local package=$1 listed
    shift
    listed=$(dpkg-deb --fsys-tarfile "$work/${package}"_*.deb | tar -t)
    for file in "$@" "usr/share/doc/$package/copyright" "usr/share/doc/$package/changelog.gz" \
        "usr/share/doc/$package/LICENSE-THIRD-PARTY.gz"; do
        grep -qx "\./$file" <<<"$listed" || fail "$package lacks $file"
    done
}
has libseconder0 "usr/lib/$triplet/libseconder.so.0"
has libseconder-dev "usr/lib/$triplet/libseconder.so" "usr/lib/$triplet/libseconder.a" \
    usr/include/seconder.h usr/include/seconder.hpp "usr/lib/$triplet/pkgconfig/seconder.pc" \
    "usr/lib/$triplet/cmake/Seconder/SeconderConfig.cmake" \
    usr/share/man/man3/seconder_request_sms.3.gz usr/share/seconder/valgrind.supp
has seconder usr/bin/seconder usr/share/man/man8/seconder.8.gz
[ "$(dpkg-deb -f "$work"/libseconder-dev_*.deb Depends | cut -d, -f1)" = \
    "libseconder0 (= $(dpkg-deb -f "$work"/libseconder0_*.deb Version))" ] ||
    fail "libseconder-dev goes with another libseconder0"

[ "$(id -u)" = 0 ] || skip "only root installs packages; what is in them was looked at"
for package in "${packages[@]}"; do
    [ -z "$(dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null | grep -v '^un')" ] ||
        skip "$package is installed on this machine and stays as it is; what is in them was looked at"
done

installed=yes
with_lock dpkg -i "$work"/*.deb
read -ra flags <<<"$(pkg-config --cflags --libs seconder)"
c++ -std=c++17 examples/login.cpp -o "$work/login" "${flags[@]}"
said=$(cd "$work" && ./login <<<guess) && fail "it let in who lacks the password"
[[ $said == *"Nobody comes in." ]] || fail "the example said: $said"
# Read whole: a grep that ends at its first match would end ldd, and the pipe would have failed.
libraries=$(ldd "$work/login")
[[ $libraries == *"/lib/$triplet/libseconder.so.0 "* ]] ||
    fail "the example runs with another library: $libraries"
seconder --version
dpkg --verify "${packages[@]}"
with_lock dpkg -P "${packages[@]}"
installed=
for file in "/usr/lib/$triplet/libseconder.so.0" /usr/bin/seconder /usr/include/seconder.h; do
    [ ! -e "$file" ] || fail "$file was left behind"
done
