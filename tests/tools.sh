#!/bin/bash
# Makes sure that what the build and the tests need is there, and a Python environment: its folder,
# and the file of what is in it. Installs what is missing as root on Debian; says what it is otherwise.
set -euo pipefail
venv=$1
requirements=$2
cd "$(dirname "$0")/.."

missing=()
need() { # a Debian package, and a command that works when it is there
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || missing+=("$package")
}
need gcc cc --version
need g++ c++ --version
need clang clang++ --version
need libc6-dev sh -c 'echo "#include <stdio.h>" | cc -E -'
need pkg-config pkg-config --version
need openssl openssl version
need mandoc sh -c "command -v mandoc"
need cmake cmake --version
need abigail-tools abidiff --version
need dpkg-dev dpkg-shlibdeps --version
need dnsmasq-base /usr/sbin/dnsmasq --version
need valgrind valgrind --version
need libc6-dbg valgrind -q true
need python3 python3 --version
need python3-venv python3 -c 'import ensurepip, venv'
need redis-server redis-server --version
can_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }
# The test that needs a browser is skipped, and says so, where none can be installed.
if can_install; then
    need chromium command -v chromium
    need chromium-driver command -v chromedriver
fi
# The benchmark's peers.
need libcurl4-openssl-dev test -e /usr/include/"$(uname -m)"-linux-gnu/curl/curl.h
need libssl-dev test -e /usr/include/openssl/hmac.h
need liboath-dev test -e /usr/include/liboath/oath.h
need libpam-oath test -e /usr/lib/"$(uname -m)"-linux-gnu/security/pam_oath.so
if ((${#missing[@]} > 0)); then
    if can_install; then
        export DEBIAN_FRONTEND=noninteractive
        apt-get update -qq
        apt-get install -qq -y --no-install-recommends "${missing[@]}"
    else
        echo "Please install, or run this as root: ${missing[*]}" >&2
        exit 1
    fi
fi

if ! command -v cargo >/dev/null; then
    echo "Please install Rust, as https://rustup.rs says" >&2
    exit 1
fi
for tool in fmt clippy; do
    if ! cargo "$tool" --version >/dev/null 2>&1; then
        rustup component add rustfmt clippy || {
            echo "Please install cargo $tool" >&2
            exit 1
        }
    fi
done

if ! cmp -s "$requirements" "$venv/requirements.txt"; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install -q --disable-pip-version-check -r "$requirements"
    cp "$requirements" "$venv/requirements.txt"
fi
