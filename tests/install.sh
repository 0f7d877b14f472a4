#!/bin/bash
# Installs the debug build of the tests into a temporary folder, and builds programs against it as
# packagers do: with pkg-config and with CMake, dynamically and statically.
set -euo pipefail
cd "$(dirname "$0")/.."
built=${CARGO_TARGET_DIR:-target}/debug/install
project=$PWD
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

fail() {
    echo "tests/install.sh: $*" >&2
    exit 1
}

# Runs the C++ example with a wrong password, which it must reject.
runs() {
    local output
    output=$(cd "$root" && "$@" <<<guess) && fail "$* accepted a wrong password"
    [[ $output == *"Access denied." ]] || fail "$* printed: $output"
}

# Checks that a program does not need the shared library.
is_static() {
    local needed
    needed=$(readelf -d "$1")
    [[ $needed != *NEEDED*libseconder* ]] || fail "$1 is not static"
}

# The compiler may have a wrapper or options.
CC="env cc" packaging/libraries "$built/libseconder.a" "$root/linked" "$version"
[ -e "$root/linked/libseconder.so" ] || fail "a compiler of two words made no library"
rm -r "$root/linked"

cat >"$root/version.c" <<'C'
#include <seconder.h>
#include <stdio.h>
#include <string.h>
int main(void) {
    puts(seconder_version());
    return strcmp(seconder_version(), SECONDER_VERSION);
}
C

# One tree with the default folders, and one with other folders, as Debian uses them.
triplet=$(gcc -print-multiarch)
usual=(PREFIX=/opt/seconder "DESTDIR=$root/usual")
other=(PREFIX=/usr "DESTDIR=$root/other" "LIBDIR=/usr/lib/$triplet" INCLUDEDIR=/usr/include/seconder-0
    MANDIR=/usr/man)

by_pkg_config() { # argument: the folder of the libraries
    local lib=$1 flags
    export PKG_CONFIG_PATH=$lib/pkgconfig
    [ "$(pkg-config --modversion seconder)" = "$version" ] || fail "seconder.pc has another version"
    read -ra flags <<<"$(pkg-config --cflags --libs seconder)"
    cc "$root/version.c" -o "$root/version" "${flags[@]}"
    LD_LIBRARY_PATH=$lib "$root/version"
    c++ -std=c++17 "$project/examples/login.cpp" -o "$root/login" "${flags[@]}"
    runs env LD_LIBRARY_PATH="$lib" "$root/login"

    read -ra flags <<<"$(pkg-config --static --cflags --libs seconder)"
    flags=("${flags[@]/#-lseconder/-l:libseconder.a}")
    c++ -std=c++17 "$project/examples/login.cpp" -o "$root/login-static" "${flags[@]}"
    runs env -i "$root/login-static"
    is_static "$root/login-static"

    # Without any shared library. The linker warns of functions that are not called.
    read -ra flags <<<"$(pkg-config --static --cflags --libs seconder)"
    gcc -static "$root/version.c" -o "$root/version-static" "${flags[@]}" 2>"$root/warnings" ||
        fail "$(cat "$root/warnings")"
    env -i "$root/version-static"
}

by_cmake() { # argument: the prefix, including DESTDIR
    cat >"$root/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.13)
project(login LANGUAGES C CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(Seconder \${WANTED} REQUIRED)
add_executable(shared "$project/examples/login.cpp")
target_link_libraries(shared PRIVATE Seconder::seconder)
add_executable(static "$project/examples/login.cpp")
target_link_libraries(static PRIVATE Seconder::static)
CMAKE
    local cmake=(cmake -S "$root" -B "$root/build" -DCMAKE_PREFIX_PATH="$1")
    rm -rf "$root/build"
    "${cmake[@]}" -DWANTED=0.1 >"$root/cmake.log" 2>&1 || fail "$(cat "$root/cmake.log")"
    cmake --build "$root/build" >"$root/cmake.log" 2>&1 || fail "$(cat "$root/cmake.log")"
    runs "$root/build/shared"
    runs env -i "$root/build/static"
    is_static "$root/build/static"
    for wanted in "0.1...0.9" "0.0.1...<1.0"; do
        rm -rf "$root/build"
        "${cmake[@]}" -DWANTED=$wanted >/dev/null 2>&1 || fail "CMake rejected $version for $wanted"
    done
    for wanted in 1.0 0.999 "0.0...0.0.5" "0.0...<$version" "0.2...0.9"; do
        rm -rf "$root/build"
        ! "${cmake[@]}" -DWANTED=$wanted >/dev/null 2>&1 || fail "CMake accepted $version for $wanted"
    done
}

# Checks that every function has a man page, and lints pages where they are installed.
by_man() { # argument: the folder of the pages
    local names
    names=$(nm -D --defined-only "$built/libseconder.so" | sed -n 's/.* T \(.*\)@@.*/\1/p')
    [ -n "$names" ] || fail "the library exports nothing"
    for name in $names; do
        [ -s "$1/man3/$name.3" ] || fail "there is no page for $name"
    done
    for page in man3/seconder-daemon.3 man7/seconder-interface.7; do
        [ -f "$1/$page" ] && [ ! -L "$1/$page" ] || fail "there is no page $page"
    done
    [ -L "$1/man7/seconder-protocol.7" ] || fail "there is no page seconder-protocol.7"
    [ ! -L "$1/man3/seconder.3" ] || fail "seconder.3 was replaced by a link"
    mandoc -T lint -W warning "$1"/man3/seconder{,-daemon}.3 "$1"/man7/seconder-interface.7 \
        "$1"/man8/seconder.8
}

# Root may have no compiler and should not build, so install-files must work without cargo, and
# without an environment.
output=$(env -i PATH=/usr/bin:/bin make -s install-files CARGO=false FROM="$built" "${usual[@]}" 2>&1)
[ -z "$output" ] || fail "make install-files printed: $output"
# The tree lies below DESTDIR and not in /opt/seconder: it must be relocatable.
export PKG_CONFIG_SYSROOT_DIR=$root/usual
by_pkg_config "$root/usual/opt/seconder/lib"
by_cmake "$root/usual/opt/seconder"
by_man "$root/usual/opt/seconder/share/man"
LD_LIBRARY_PATH=$root/usual/opt/seconder/lib tests/languages.sh
for tool in valgrind helgrind; do
    [ -s "$root/usual/opt/seconder/share/seconder/$tool.supp" ] || fail "$tool.supp is missing"
done
[ -s "$root/usual/opt/seconder/share/doc/seconder/examples/daemon_epoll.c" ] || fail "there are no examples"
"$root/usual/opt/seconder/bin/seconder" --version
# The module is where PAM looks, whatever the prefix.
module=$(cd "$root/usual" && find . -name pam_seconder.so)
[ -e "$(dirname "${module#.}")/pam_unix.so" ] ||
    fail "PAM does not find $module"

make -s install-files FROM="$built" "${other[@]}"
export PKG_CONFIG_SYSROOT_DIR=$root/other
by_pkg_config "$root/other/usr/lib/$triplet"
by_cmake "$root/other/usr"
by_man "$root/other/usr/man"

# Uninstalling must keep the files of others in the same folders.
share=$root/usual/opt/seconder/share
others=("$share/theirs" "$share/seconder/theirs" "$share/doc/seconder/theirs"
    "$root/usual/opt/seconder/lib/cmake/Seconder/theirs")
touch "${others[@]}"
make -s uninstall "${usual[@]}"
make -s uninstall "${other[@]}"
rm "${others[@]}" || fail "uninstall removed files that it had not installed"
left=$(find "$root/usual" "$root/other" ! -type d)
[ -z "$left" ] || fail "uninstall left files behind: $left"
