#!/bin/bash
# Builds the Debian packages from the debug build of the tests and checks their contents. As root,
# it also installs them, builds and runs a program against them, and removes them.
set -euo pipefail
cd "$(dirname "$0")/.."
# The messages of dpkg are compared below, so they must not be translated.
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

packages=(libseconder0 libseconder-dev seconder libpam-seconder
    libseconder0-dbgsym seconder-dbgsym libpam-seconder-dbgsym)
work=$(mktemp -d)
installed=
clean() {
    rm -rf "$work"
    [ -z "$installed" ] || with_lock dpkg -P "${packages[@]}" >/dev/null
}
trap clean EXIT

# Another process may hold the lock of dpkg.
with_lock() {
    local output
    for _ in {1..60}; do
        output=$("$@" 2>&1) && return
        [[ $output == *lock* ]] || break
        sleep 2
    done
    fail "$* failed: $output"
}

# The debug build is large and the packages are discarded, so they are compressed lightly.
packaging/deb.sh "${CARGO_TARGET_DIR:-target}/debug/install" "$work" -Zgzip -z1 >/dev/null
triplet=$(gcc -print-multiarch)
has() { # arguments: a package, and the files that it must contain
    local package=$1 listed
    shift
    listed=$(dpkg-deb --fsys-tarfile "$work/${package}"_*.deb | tar -t)
    for file in "$@" "usr/share/doc/$package/copyright" "usr/share/doc/$package/changelog.gz" \
        "usr/share/doc/$package/LICENSE-THIRD-PARTY.gz"; do
        grep -qx "\./$file" <<<"$listed" || fail "$package lacks $file"
    done
}
# Whether a symbols file fits the library that was packaged.
symbols_match() { # FILE
    mkdir -p "$work/debian" "$work/library"
    printf 'Source: seconder\n\nPackage: libseconder0\nArchitecture: any\n' >"$work/debian/control"
    dpkg-deb -x "$work"/libseconder0_*.deb "$work/library"
    dpkg-gensymbols -c4 -plibseconder0 -v1 -P"$work/library" -I"$1" -O/dev/null \
        -e"$(echo "$work/library/usr/lib/$triplet"/libseconder.so.*.*)" >/dev/null 2>&1
}
has libseconder0 "usr/lib/$triplet/libseconder.so.0"
has libseconder-dev "usr/lib/$triplet/libseconder.so" "usr/lib/$triplet/libseconder.a" \
    usr/include/seconder.h usr/include/seconder.hpp "usr/lib/$triplet/pkgconfig/seconder.pc" \
    "usr/lib/$triplet/cmake/Seconder/SeconderConfig.cmake" \
    usr/share/man/man3/seconder_request_sms.3.gz usr/share/man/man3/seconder-daemon.3.gz \
    usr/share/seconder/valgrind.supp \
    usr/share/doc/seconder/examples/daemon_fork.c \
    usr/share/seconder/helgrind.supp
has seconder usr/bin/seconder usr/bin/seconder-login usr/share/man/man8/seconder.8.gz \
    usr/share/man/man8/seconder-login.8.gz usr/share/man/man5/seconder-pam.conf.5.gz \
    usr/share/man/man5/seconder.conf.5.gz \
    usr/share/man/man7/seconder-interface.7.gz usr/share/man/man7/seconder-protocol.7.gz \
    usr/lib/systemd/system/seconder.service usr/lib/systemd/system/seconder.socket \
    usr/lib/sysusers.d/seconder.conf usr/lib/tmpfiles.d/seconder.conf \
    usr/share/doc/seconder/monitoring/seconder-alerts.yml
has libpam-seconder "usr/lib/$triplet/security/pam_seconder.so" usr/share/pam-configs/seconder \
    usr/share/man/man8/pam_seconder.8.gz
# Nobody but root may read the codes of offline logins.
grep -q '^drwx------ root/root .* \./var/lib/seconder-login/$' \
    <(dpkg-deb --fsys-tarfile "$work"/libpam-seconder_*.deb | tar -tv) ||
    fail "libpam-seconder lacks a private folder for offline logins"
# The units are off until an administrator switches them on.
[ -z "$(dpkg-deb --fsys-tarfile "$work"/seconder_*.deb | tar -t | grep '\.wants/')" ] ||
    fail "the service is switched on"
# Installing the module must change no login.
grep -qx "Default: no" <(dpkg-deb --fsys-tarfile "$work"/libpam-seconder_*.deb |
    tar -xO ./usr/share/pam-configs/seconder) || fail "the module is on by default"
grep -q "libseconder.so.0 libseconder0 #MINVER#" \
    <(dpkg-deb --ctrl-tarfile "$work"/libseconder0_*.deb | tar -xO ./symbols) ||
    fail "libseconder0 has no symbols file"
# A library that lost a function, or has a new one, must not be packaged as if it had not.
for change in '/seconder_verify@/d' 's/seconder_verify@/seconder_lost@/'; do
    cp -r packaging "$work/changed"
    sed -i "$change" "$work/changed/libseconder0.symbols"
    ! (cd "$work" && symbols_match "$work/changed/libseconder0.symbols") || fail "$change is not noticed"
    rm -r "$work/changed"
done
# The debug information is in the other package, under the build id of what is installed.
for package in libseconder0 seconder libpam-seconder; do
    dpkg-deb -x "$work/$package"_*.deb "$work/tree"
    dpkg-deb -x "$work/$package-dbgsym"_*.deb "$work/tree"
done
for file in "$work/tree/usr/lib/$triplet"/libseconder.so.*.* "$work/tree/usr/bin"/* \
    "$work/tree/usr/lib/$triplet/security/pam_seconder.so"; do
    sections=$(readelf -SW "$file")
    [[ $sections != *.debug_line* && $sections == *.gnu_debuglink* ]] || fail "$file is not split"
    id=$(readelf -n "$file" | sed -n 's/^ *Build ID: //p')
    sections=$(readelf -SW "$work/tree/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" 2>/dev/null)
    [[ $sections == *.debug_line* ]] || fail "there is no debug information for $file"
done
[ "$(dpkg-deb -f "$work"/libseconder-dev_*.deb Depends | cut -d, -f1)" = \
    "libseconder0 (= $(dpkg-deb -f "$work"/libseconder0_*.deb Version))" ] ||
    fail "libseconder-dev depends on a different version of libseconder0"

[ "$(id -u)" = 0 ] || skip "only root can install packages; the contents were checked"
for package in "${packages[@]}"; do
    [ -z "$(dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null | grep -v '^un')" ] ||
        skip "$package is installed already and is left as it is; the contents were checked"
done

if unshare --mount true 2>/dev/null; then
    unshare --mount --propagation private tests/deb_lifecycle.sh "$work"
else
    echo "skipped: upgrading the packages, because there are no mount namespaces here"
fi
if unshare --mount --net true 2>/dev/null; then
    unshare --mount --net --propagation private tests/operate.sh "$work"
else
    echo "skipped: docs/operate.md, because there are no namespaces of mounts and networks here"
fi

installed=yes
with_lock dpkg -i "$work"/*.deb
read -ra flags <<<"$(pkg-config --cflags --libs seconder)"
c++ -std=c++17 examples/login.cpp -o "$work/login" "${flags[@]}"
output=$(cd "$work" && ./login <<<guess) && fail "the example accepted a wrong password"
[[ $output == *"Access denied." ]] || fail "the example printed: $output"
# Not a pipe: grep would exit at its first match, ldd would die of SIGPIPE, and pipefail would fail.
libraries=$(ldd "$work/login")
[[ $libraries == *"/lib/$triplet/libseconder.so.0 "* ]] ||
    fail "the example uses a different library: $libraries"
seconder --version
dpkg --verify "${packages[@]}"
# The module is off until somebody switches it on, and removing its package while it is on switches it
# off again. This is tried on copies, so that no login of this machine changes.
! grep -q pam_seconder /etc/pam.d/common-auth || fail "installing the module switched it on"
if unshare --mount true 2>/dev/null; then
    unshare --mount --propagation private tests/pam_auth_update.sh ||
        fail "the profile is not switched on and off"
else
    echo "skipped: the profile of pam-auth-update, because there are no mount namespaces here"
fi
with_lock dpkg -P "${packages[@]}"
installed=
for file in "/usr/lib/$triplet/libseconder.so.0" /usr/bin/seconder /usr/include/seconder.h \
    "/usr/lib/$triplet/security/pam_seconder.so" /usr/share/pam-configs/seconder; do
    [ ! -e "$file" ] || fail "$file was left behind"
done
