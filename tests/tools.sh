#!/bin/bash
# Sets up what a kind of work requires: Debian packages, Rust, Python environments and npm packages. As
# root on Debian, it installs missing packages; otherwise it prints how to. Example: `tests/tools.sh demo`
set -euo pipefail
cd "$(dirname "$0")/.."

# The kinds of work, and the parts below that each requires.
declare -A lists=(
    [rust]="compiler lints"
    [demo]="build"
    [approver-demo]="build certificates"
    [docs]="build documents"
    [web]="build modules"
    [python]="build modules services"
    [approver]="build modules services phones"
    [wheels]="build platforms"
    [bench]="build peers"
    [privacyidea]="build certificates privacyidea"
    [test]="build modules services phones documents peers checks lints logins smsc proxy languages"
)

# Builds the libraries and the programs.
compiler() {
    need gcc cc --version
    need libc6-dev header stdio.h
}

lints() {
    components=(rustfmt clippy)
}

# Builds the Python module too.
build() {
    compiler
    need python3 python3 --version
    need python3-venv python3 -c "import ensurepip, venv"
    environments+=("build/venv packaging/requirements.txt")
}

# Modules that the tests of the Python module and the example applications import.
modules() {
    environments+=("build/venv tests/requirements.txt")
}

# Builds wheels for other platforms, and runs them.
platforms() {
    need qemu-user-static command -v "qemu-$([ "$(uname -m)" = x86_64 ] && echo aarch64 || echo x86_64)-static"
    environments+=("build/venv packaging/wheels.txt")
}

certificates() {
    need openssl openssl version
}

# Programs that the tests of the Python module start.
services() {
    certificates
    need redis-server redis-server --version
    need sqlite3 sqlite3 --version
    if can_install; then
        need chromium command -v chromium
        need chromium-driver command -v chromedriver
    elif ! { command -v chromium && command -v chromedriver; } >/dev/null; then
        echo "Without chromium and chromium-driver, the test that needs a browser is skipped."
    fi
}

# Further browsers, in which the page of the approver is tested, and what finds faults of accessibility in it.
phones() {
    from_npm build/axe tests/approver/axe
    if can_install; then
        need firefox-esr command -v firefox-esr
        need webkit2gtk-driver command -v WebKitWebDriver
        need xvfb command -v Xvfb
    elif ! { command -v firefox-esr && command -v WebKitWebDriver && command -v Xvfb; } >/dev/null; then
        echo "Without firefox-esr, webkit2gtk-driver and xvfb, the approver is not tested in these browsers."
    fi
}

documents() {
    environments+=("build/venv-docs docs/requirements.txt")
}

# The libraries that the benchmark compares with.
peers() {
    need libcurl4-openssl-dev header curl/curl.h
    need libssl-dev header openssl/hmac.h
    need liboath-dev header liboath/oath.h
    need libpam0g-dev header security/pam_modules.h
    need libpam-oath compgen -G "/usr/lib/*/security/pam_oath.so"
    need libpam-u2f compgen -G "/usr/lib/*/security/pam_u2f.so"
    environments+=("build/venv-bench benches/requirements.txt")
}

# A service that the benchmark compares with when it is asked to.
privacyidea() {
    environments+=("build/venv-privacyidea benches/privacyidea.txt")
}

# Programs that log users in. Their services are not started.
logins() {
    need libpam0g-dev header security/pam_modules.h
    need pamtester command -v pamtester
    need libpam-wrapper compgen -G "/usr/lib/*/libpam_wrapper.so"
    need openssh-server test -x /usr/sbin/sshd
    need openssh-client command -v ssh
    need sudo command -v sudo
    need freeradius test -x /usr/sbin/freeradius
    need freeradius-utils command -v radclient
}

# Tools of the other tests.
checks() {
    need g++ c++ --version
    need clang clang++ --version
    need procps env kill -l
    need curl curl --version
    need pkg-config pkg-config --version
    need mandoc command -v mandoc
    need cmake cmake --version
    need abigail-tools abidiff --version
    need dpkg-dev dpkg-shlibdeps --version
    need systemd systemd-analyze --version
    need dnsmasq-base /usr/sbin/dnsmasq --version
    need valgrind valgrind --version
    need libc6-dbg valgrind -q true
    need postgresql compgen -G "/usr/lib/postgresql/*/bin/initdb"
    need pgbouncer test -x /usr/sbin/pgbouncer
    need libsqlite3-0 compgen -G "/usr/lib/*/libsqlite3.so.0"
}

# The SMSC of the tests, from the npm registry, and a gateway of another implementation that uses it.
# Its service is not started.
smsc() {
    need kannel test -x /usr/sbin/bearerbox
    from_npm build/smsc server/tests/smsc
}

# What stands in front of the service.
proxy() {
    need haproxy test -x /usr/sbin/haproxy
}

# Languages that call the C library. Go and Java take longer to install than to test, so they are only used where they
# are there.
languages() {
    need ruby ruby -r fiddle -e ""
    need php-cli php -r 'FFI::cdef("");'
    from_npm build/languages examples/languages
    if can_install && command -v javac >/dev/null; then
        need libjna-java test -e /usr/share/java/jna.jar
    fi
}

packages=()
components=()
environments=()
node_modules=()
need() { # a Debian package, and a command that works when it is there
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || packages+=("$package")
}
from_npm() { # a folder, and another one with a lock file, whose packages it gets
    need nodejs node --version
    need npm npm --version
    node_modules+=("$1 $2")
}
header() {
    echo "#include <$1>" | cc -E -
}
can_install() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null
}
complained=
complain() {
    printf '%s\n' "$@" >&2
    complained=yes
}

# Debian's own Rust is too old, and cargo's error about it does not say what to do.
check_rust() {
    local wanted found tool
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    found=$(cargo --version 2>/dev/null | cut -d ' ' -f 2) || true
    if ! printf '%s\n' "$wanted" "$found" | sort -VC; then
        complain "Rust $wanted or later is needed; found: ${found:-none}." \
            "Install it as https://rustup.rs says, open a new shell and run make again."
        return
    fi
    for tool in "${components[@]}"; do
        cargo "${tool#rust}" --version >/dev/null 2>&1 || rustup component add "$tool" ||
            complain "Rust's $tool is missing. Install it the way Rust was installed and run make again."
    done
}

install_packages() {
    local install=(apt-get install -y --no-install-recommends "${packages[@]}")
    if ((${#packages[@]} == 0)); then
        return
    elif ! command -v apt-get >/dev/null; then
        complain "Missing, by the names of their Debian packages: ${packages[*]}." \
            "Install what your system has in their place and run make again."
    elif ! can_install; then
        complain "Packages are missing: ${packages[*]}." "Install them and run make again:" \
            "    sudo apt-get update && sudo ${install[*]}"
    elif [ -z "$complained" ]; then
        echo "Installing packages: ${packages[*]}"
        export DEBIAN_FRONTEND=noninteractive
        apt-get update
        start_no_services
        "${install[@]}"
    fi
}

# What is installed here is for tests, so packages do not start their services on this machine.
start_no_services() {
    local policy=/usr/sbin/policy-rc.d
    [ ! -e "$policy" ] || return 0
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
}

check_python() {
    python3 -c "import sys; sys.exit(sys.version_info < (3, 10))" ||
        complain "Python 3.10 or later is needed; found: $(python3 --version)."
}

# Prints a requirements file, with the files that it includes.
requirements() {
    local line
    while IFS= read -r line; do
        case $line in
        "-r "*) requirements "$(dirname "$1")/${line#-r }" ;;
        *) printf '%s\n' "$line" ;;
        esac
    done <"$1"
}

# An environment is only added to. It is created again if its Python is gone, or if its requirements
# changed: packages that they no longer list would stay otherwise.
make_environment() {
    local venv=$1 file=$2
    local installed=$venv/${file//\//-}
    if [ -e "$installed" ]; then
        requirements "$file" | cmp -s - "$installed" && "$venv/bin/python" -c "" && return
        rm -rf "$venv"
    fi
    echo "Installing into $venv: $file"
    "$venv/bin/python" -m pip --version >/dev/null 2>&1 || python3 -m venv --clear "$venv"
    "$venv/bin/python" -m pip install -q --no-compile --disable-pip-version-check --use-pep517 -r "$file"
    requirements "$file" >"$installed"
}

# Installs the packages that a lock file names, unless they are there. npm writes its own list last.
make_node_modules() {
    local folder=$1 source=$2
    [ -e "$folder/node_modules/.package-lock.json" ] &&
        cmp -s "$source/package-lock.json" "$folder/package-lock.json" && return
    echo "Installing into $folder: $source/package-lock.json"
    rm -rf "$folder"
    mkdir -p "$folder"
    cp "$source/package.json" "$source/package-lock.json" "$folder"
    (cd "$folder" && npm ci --loglevel=error --ignore-scripts --no-audit --no-fund)
}

# Only one at a time changes the packages of this machine and the environments below build/.
mkdir -p build
exec 9>build/tools.lock
flock 9 2>/dev/null || true

for part in ${lists[${1:?"name a kind of work, such as demo"}]?"unknown kind of work: $1"}; do
    "$part"
done
check_rust
install_packages
[ -z "$complained" ] || exit 1
check_python
[ -z "$complained" ] || exit 1
for environment in "${environments[@]}"; do
    read -r venv file <<<"$environment"
    make_environment "$venv" "$file"
done
for modules in "${node_modules[@]}"; do
    read -r folder source <<<"$modules"
    make_node_modules "$folder" "$source"
done
