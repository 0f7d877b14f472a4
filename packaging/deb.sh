#!/bin/bash
# Makes the Debian packages libseconder0, libseconder-dev, seconder and libpam-seconder from a build,
# and packages with their debug information, such as seconder-dbgsym:
# packaging/deb.sh BUILD_FOLDER OUTPUT_FOLDER [OPTION OF dpkg-deb ...]. It needs only dpkg-deb, and
# dpkg-dev for exact dependencies.
set -euo pipefail
cd "$(dirname "$0")/.."
from=$(realpath "$1")
out=$(realpath -m "$2")
shift 2
options=("$@")
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
architecture=$(dpkg --print-architecture)
triplet=$(gcc -print-multiarch)
maintainer=${MAINTAINER:-The Seconder developers <developers@seconder.invalid>}
# The date of the last change, so that builds of the same sources are reproducible.
last_change=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$last_change}
export SOURCE_DATE_EPOCH LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

# Installs the files of a package into its tree.
install_into() { # PACKAGE MAKE_TARGET...
    local package=$1
    shift
    make -s "$@" FROM="$from" DESTDIR="$work/$package" PREFIX=/usr LIBDIR="/usr/lib/$triplet" \
        PAMDIR="/usr/lib/$triplet/security"
}

# Prints the packages on which the given programs and libraries depend. Without dpkg-shlibdeps,
# these are the C library and libgcc, without versions.
dependencies() { # PACKAGE FILE...
    local package=$1
    shift
    mkdir -p "$work/debian"
    printf 'Source: seconder\n\nPackage: %s\nArchitecture: any\n' "$package" >"$work/debian/control"
    (cd "$work" && dpkg-shlibdeps -O -S"$package" "$@" 2>/dev/null) |
        sed -n 's/^shlibs:Depends=//p' | grep . || echo "libc6, libgcc-s1"
}

# Splits the debug information of FILE into the tree of the package PACKAGE-dbgsym, where debuggers
# look for it. `make release` has split it already; otherwise it is split here.
split_debug() { # PACKAGE FILE BUILT
    local file=$2 built=$3 id debug
    if [ -e "$built.debug" ]; then
        cp "$built.debug" "$file.debug"
    else
        packaging/split "$file"
    fi
    id=$(readelf -n "$file" | sed -n 's/^ *Build ID: //p')
    [ -n "$id" ] || { echo "packaging/deb.sh: $file has no build id" >&2; exit 1; }
    debug=$work/$1-dbgsym/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
    install -D -m 644 "$file.debug" "$debug"
    rm "$file.debug"
    objcopy --compress-debug-sections "$debug"
    echo "$id" >>"$work/$1-dbgsym.id"
}

# Builds the package with the debug information of another one.
build_debug() { # PACKAGE
    build "$1-dbgsym" <<CONTROL
Section: debug
Auto-Built-Package: debug-symbols
Build-Ids: $(paste -sd ' ' "$work/$1-dbgsym.id")
$([[ $1 != lib* ]] || echo "Multi-Arch: same")
Depends: $1 (= $version)
Description: debug symbols for $1
 Debuggers and valgrind show with it in which line of Seconder a thread is.
CONTROL
}

# Writes the copyright file, the licences and the changelog that Debian requires of every package.
add_documents() { # PACKAGE
    local folder=$work/$1/usr/share/doc/$1
    mkdir -p "$folder"
    {
        printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n'
        printf 'Upstream-Name: seconder\nSource: https://github.com/seconder/seconder\n\n'
        printf 'Files: *\nCopyright: %s\n' "$(sed -n 's/^Copyright (c) //p' LICENSE-MIT)"
        printf 'License: Expat or Apache-2.0\n\n'
        printf 'License: Expat\n'
        sed -n '/^Permission is/,$p' LICENSE-MIT | sed -e 's/^$/./' -e 's/^/ /'
        printf '\nLicense: Apache-2.0\n'
        printf ' On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n'
        printf '\nFiles: usr/lib/* usr/bin/*\n'
        printf 'Copyright: of the built-in components: see LICENSE-THIRD-PARTY.gz\n'
        printf 'License: those-of-parts\n LICENSE-THIRD-PARTY.gz in this folder has every text.\n'
    } >"$folder/copyright"
    gzip -9n <LICENSE-THIRD-PARTY >"$folder/LICENSE-THIRD-PARTY.gz"
    {
        printf 'seconder (%s) unstable; urgency=medium\n\n' "$version"
        printf '  * Version %s: see CHANGELOG.md of the sources for the changes.\n\n' "$version"
        printf ' -- %s  %s\n' "$maintainer" "$(date -uRd "@$SOURCE_DATE_EPOCH")"
    } | gzip -9n >"$folder/changelog.gz"
}

# Compresses the man pages, as Debian requires, and points the links to the compressed files.
compress_pages() { # PACKAGE
    local page
    find "$work/$1" -path '*/man/*' -type f -exec gzip -9n {} +
    find "$work/$1" -path '*/man/*' -type l | while read -r page; do
        ln -s "$(readlink "$page").gz" "$page.gz"
        rm "$page"
    done
}

# Builds a package from its tree. The rest of its control file is read from standard input.
build() { # PACKAGE
    local package=$1 tree=$work/$1
    add_documents "$package"
    compress_pages "$package"
    mkdir -p "$tree/DEBIAN"
    {
        printf 'Package: %s\nSource: seconder\nVersion: %s\n' "$package" "$version"
        printf 'Architecture: %s\nMaintainer: %s\n' "$architecture" "$maintainer"
        printf 'Installed-Size: %s\n' "$(du -sk --exclude=DEBIAN "$tree" | cut -f1)"
        printf 'Homepage: https://github.com/seconder/seconder\nPriority: optional\n'
        grep .
    } >"$tree/DEBIAN/control"
    (cd "$tree" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | sort -z |
        xargs -0 md5sum >DEBIAN/md5sums)
    # Modes and times do not depend on the umask and the time of the build.
    chmod -R u=rwX,go=rX "$tree"
    # The module rejects a folder of codes that others can read.
    [ ! -d "$tree/var/lib/seconder-login" ] || chmod 700 "$tree/var/lib/seconder-login"
    find "$tree" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group ${options[@]+"${options[@]}"} --build "$tree" \
        "$out/${package}_${version}_$architecture.deb" >/dev/null
    echo "$out/${package}_${version}_$architecture.deb"
}

install_into libseconder0 install-library
install_into libseconder-dev install-development
install_into seconder install-program
install_into libpam-seconder install-pam
library=$work/libseconder0/usr/lib/$triplet
development=$work/libseconder-dev/usr/lib/$triplet
# Debian's users expect units where systemd finds them. They stay switched off, because whoever uses a
# remote service needs none.
examples=$work/seconder/usr/share/doc/seconder/systemd
units=$work/seconder/usr/lib/systemd/system
install -d "$units" "$work/seconder/usr/lib/sysusers.d" "$work/seconder/usr/lib/tmpfiles.d"
mv "$examples/seconder.service" "$examples/seconder.socket" "$units/"
mv "$examples/seconder.sysusers" "$work/seconder/usr/lib/sysusers.d/seconder.conf"
mv "$examples/seconder.tmpfiles" "$work/seconder/usr/lib/tmpfiles.d/seconder.conf"
rmdir "$examples"
# Only those who compile need the static library and the link that the linker follows.
mv "$library/libseconder.a" "$library/libseconder.so" "$development/"
split_debug libseconder0 "$library"/libseconder.so.*.* "$from/libseconder.so"
for program in seconder seconder-login; do
    split_debug seconder "$work/seconder/usr/bin/$program" "$from/$program"
done
module=$work/libpam-seconder/usr/lib/$triplet/security/pam_seconder.so
split_debug libpam-seconder "$module" "$from/pam_seconder.so"
packaging/split "$development/libseconder.a"
chmod 644 "$library"/libseconder.so.*.*

mkdir -p "$work/libseconder0/DEBIAN"
# Since which version the package has which function. The list must not lack one that the library
# has, nor have one that the library lacks.
install -m 644 packaging/libseconder0.symbols "$work/libseconder0/DEBIAN/symbols"
if command -v dpkg-gensymbols >/dev/null; then
    mkdir -p "$work/debian"
    printf 'Source: seconder\n\nPackage: libseconder0\nArchitecture: any\n' >"$work/debian/control"
    (cd "$work" && dpkg-gensymbols -c4 -plibseconder0 -v"$version" -P"$work/libseconder0" \
        -I"$work/libseconder0/DEBIAN/symbols" -O/dev/null -e"$library"/libseconder.so.*.*) || {
        echo "packaging/deb.sh: run make abi-baseline, which writes packaging/libseconder0.symbols" >&2
        exit 1
    }
fi
echo "libseconder 0 libseconder0 (>= $version)" >"$work/libseconder0/DEBIAN/shlibs"
echo "activate-noawait ldconfig" >"$work/libseconder0/DEBIAN/triggers"
build libseconder0 <<CONTROL
Section: libs
Multi-Arch: same
Depends: $(dependencies libseconder0 "$library"/libseconder.so.*.*)
Recommends: ca-certificates
Description: second factor of a login (shared library)
 Seconder adds the second factor to a login: codes by SMS and voice call,
 codes of authenticator apps, and approval on the user's phone. One set of
 calls is handled by a remote service or by one inside the program.
CONTROL
build libseconder-dev <<CONTROL
Section: libdevel
Multi-Arch: same
Depends: libseconder0 (= $version), libc6-dev
Suggests: pkg-config, cmake, seconder
Description: second factor of a login (development files)
 Headers for C and C++, the static library, man pages, and the files of
 pkg-config and CMake, for programs that use Seconder.
CONTROL
mkdir -p "$work/seconder/DEBIAN"
# The pages of section 7 were in libseconder-dev before this version.
moved=0.1.0
# The units need the user and its folders, and a service that runs is to be the new program.
cat >"$work/seconder/DEBIAN/postinst" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = configure ]; then
    if command -v systemd-sysusers >/dev/null; then
        systemd-sysusers seconder.conf
    fi
    if command -v systemd-tmpfiles >/dev/null; then
        systemd-tmpfiles --create seconder.conf
    fi
    if [ -d /run/systemd/system ]; then
        # A service that does not start is no reason to leave the package half installed.
        systemctl daemon-reload || true
        # Only after an upgrade: the first installation starts nothing, and has no /etc/seconder/seconder.conf.
        [ -z "$2" ] || systemctl try-restart seconder.service || true
    fi
fi
SCRIPT
cat >"$work/seconder/DEBIAN/prerm" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl disable --now seconder.service seconder.socket || true
fi
SCRIPT
# The configuration goes with a purge alone, and the database, its keyring and the messages if a person says so; what else an
# administrator has put beside the configuration stays. The user stays, as users do in Debian:
# backups and other files may belong to it.
cat >"$work/seconder/DEBIAN/postrm" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = purge ]; then
    # Without its keyring, no backup of the database is of any use, so only a person deletes them.
    if [ -n "$(ls -A /var/lib/seconder 2>/dev/null)" ]; then
        answer=
        if [ "$DEBIAN_FRONTEND" != noninteractive ] && [ -t 0 ] && [ -t 2 ]; then
            ls -l /var/lib/seconder >&2
            echo "Purging seconder can delete /var/lib/seconder, with the database of users and its keyring." >&2
            printf 'Type yes to delete them, or Enter to keep them: ' >&2
            read -r answer || true
        fi
        if [ "$answer" = yes ]; then
            rm -rf /var/lib/seconder
        else
            echo "seconder: /var/lib/seconder is kept. To delete it: rm -r /var/lib/seconder" >&2
        fi
    elif [ -d /var/lib/seconder ]; then
        rmdir /var/lib/seconder
    fi
    rm -f /etc/seconder/seconder.conf
    [ ! -d /etc/seconder ] || rmdir --ignore-fail-on-non-empty /etc/seconder
fi
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
fi
SCRIPT
chmod 755 "$work/seconder/DEBIAN"/p*
build seconder <<CONTROL
Section: admin
Depends: $(dependencies seconder "$work/seconder/usr/bin"/*)
Recommends: ca-certificates, systemd | systemd-standalone-sysusers | systemd-sysusers
Breaks: libseconder-dev (<< $moved)
Replaces: libseconder-dev (<< $moved)
Description: second factor of a login (service)
 The program seconder runs the service of a second factor behind HTTPS and on
 local sockets, and manages its database. The program seconder-login asks for
 the second factor on a terminal, for daemons and scripts without PAM.
CONTROL

install -D -m 644 packaging/pam-config "$work/libpam-seconder/usr/share/pam-configs/seconder"
# For offline logins, if the configuration has them.
install -d "$work/libpam-seconder/var/lib/seconder-login"
mkdir -p "$work/libpam-seconder/DEBIAN"
# pam-auth-update offers the profile, which is off by default. Before the module goes, it is taken
# out of the files of /etc/pam.d, because PAM rejects every login for which a module is missing.
cat >"$work/libpam-seconder/DEBIAN/postinst" <<'SCRIPT'
#!/bin/sh
set -e
[ "$1" != configure ] || pam-auth-update --package
SCRIPT
cat >"$work/libpam-seconder/DEBIAN/prerm" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ "${DPKG_MAINTSCRIPT_PACKAGE_REFCOUNT:-1}" = 1 ]; then
    pam-auth-update --package --remove seconder
fi
SCRIPT
cat >"$work/libpam-seconder/DEBIAN/postrm" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = purge ] && [ "${DPKG_MAINTSCRIPT_PACKAGE_REFCOUNT:-1}" -le 1 ]; then
    rm -rf /var/lib/seconder-login
fi
SCRIPT
chmod 755 "$work/libpam-seconder/DEBIAN"/p*
build libpam-seconder <<CONTROL
Section: admin
Multi-Arch: same
Depends: $(dependencies libpam-seconder "$module"), libpam-runtime
Recommends: seconder
Description: second factor of a login (PAM module)
 The module pam_seconder asks for the second factor at logins of sshd, login,
 sudo, su and others: a code, or an approval on the user's phone. It asks the
 service on this machine over a socket, or a remote one over HTTPS. Installing
 it changes no login: pam-auth-update switches it on.
CONTROL
build_debug libseconder0
build_debug seconder
build_debug libpam-seconder
