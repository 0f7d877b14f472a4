#!/bin/bash
# Makes the Debian packages libseconder0, libseconder-dev and seconder of what was built: from the
# first folder into the second; what follows is said to dpkg-deb. It needs dpkg-deb alone, and dpkg-dev
# for exact dependencies.
set -euo pipefail
cd "$(dirname "$0")/.."
from=$(realpath "$1")
out=$(realpath -m "$2")
shift 2
how=("$@")
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
architecture=$(dpkg --print-architecture)
triplet=$(gcc -print-multiarch)
maintainer=${MAINTAINER:-The Seconder developers <developers@seconder.invalid>}
# The day of the last change, so that the same sources give the same packages.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export SOURCE_DATE_EPOCH LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

lay() { # a package, and the targets that install what is in it
    local package=$1
    shift
    make -s "$@" FROM="$from" DESTDIR="$work/$package" PREFIX=/usr LIBDIR="/usr/lib/$triplet"
}

# What a package's programs and libraries need of the system.
needs() { # a package, and the files in it
    local package=$1
    shift
    mkdir -p "$work/debian"
    printf 'Source: seconder\n\nPackage: %s\nArchitecture: any\n' "$package" >"$work/debian/control"
    (cd "$work" && dpkg-shlibdeps -O -S"$package" "$@" 2>/dev/null | sed -n 's/^shlibs:Depends=//p') |
        grep . || echo "libc6, libgcc-s1"
}

documents() { # a package
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
        printf '\nFiles: usr/lib/* usr/bin/*\nCopyright: of what is built in: see LICENSE-THIRD-PARTY.gz\n'
        printf 'License: those-of-parts\n LICENSE-THIRD-PARTY.gz in this folder has every text.\n'
    } >"$folder/copyright"
    gzip -9n <LICENSE-THIRD-PARTY >"$folder/LICENSE-THIRD-PARTY.gz"
    {
        printf 'seconder (%s) unstable; urgency=medium\n\n' "$version"
        printf '  * Version %s: CHANGELOG.md of the sources tells what changed.\n\n' "$version"
        printf ' -- %s  %s\n' "$maintainer" "$(date -uRd "@$SOURCE_DATE_EPOCH")"
    } | gzip -9n >"$folder/changelog.gz"
}

# Pages are packed, and links to them lead to what is packed.
pack_pages() { # a package
    local page
    find "$work/$1" -path '*/man/*' -type f -exec gzip -9n {} +
    find "$work/$1" -path '*/man/*' -type l | while read -r page; do
        ln -s "$(readlink "$page").gz" "$page.gz"
        rm "$page"
    done
}

build() { # a package; the rest of its control file is read
    local package=$1 tree=$work/$1
    documents "$package"
    pack_pages "$package"
    mkdir -p "$tree/DEBIAN"
    {
        printf 'Package: %s\nSource: seconder\nVersion: %s\n' "$package" "$version"
        printf 'Architecture: %s\nMaintainer: %s\n' "$architecture" "$maintainer"
        printf 'Installed-Size: %s\n' "$(du -sk --exclude=DEBIAN "$tree" | cut -f1)"
        printf 'Homepage: https://github.com/seconder/seconder\nPriority: optional\n'
        cat
    } >"$tree/DEBIAN/control"
    (cd "$tree" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | sort -z |
        xargs -0 md5sum >DEBIAN/md5sums)
    chmod -R u=rwX,go=rX "$tree"
    find "$tree" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group ${how[@]+"${how[@]}"} --build "$tree" \
        "$out/${package}_${version}_$architecture.deb" >/dev/null
    echo "$out/${package}_${version}_$architecture.deb"
}

lay libseconder0 install-library
lay libseconder-dev install-development
lay seconder install-program
library=$work/libseconder0/usr/lib/$triplet
development=$work/libseconder-dev/usr/lib/$triplet
mv "$library/libseconder.a" "$library/libseconder.so" "$development/"
strip --strip-unneeded "$library"/libseconder.so.*.*
strip --strip-debug --enable-deterministic-archives "$development/libseconder.a"
strip "$work/seconder/usr/bin/seconder"
chmod 644 "$library"/libseconder.so.*.*

mkdir -p "$work/libseconder0/DEBIAN"
echo "libseconder 0 libseconder0 (>= $version)" >"$work/libseconder0/DEBIAN/shlibs"
echo "activate-noawait ldconfig" >"$work/libseconder0/DEBIAN/triggers"
build libseconder0 <<CONTROL
Section: libs
Multi-Arch: same
Depends: $(needs libseconder0 "$library"/libseconder.so.*.*)
Recommends: ca-certificates
Description: second factor of a login (shared library)
 Seconder adds the second factor to a login: codes by SMS and voice call,
 codes of authenticator apps, and approval on the user's phone. One set of
 calls is answered by a remote service or by one inside the program.
CONTROL
build libseconder-dev <<CONTROL
Section: libdevel
Multi-Arch: same
Depends: libseconder0 (= $version), libc6-dev
Suggests: pkg-config, cmake
Description: second factor of a login (development files)
 Headers for C and C++, the static library, man pages, and what pkg-config
 and CMake read, for programs that use Seconder.
CONTROL
build seconder <<CONTROL
Section: admin
Depends: $(needs seconder "$work/seconder/usr/bin/seconder")
Recommends: ca-certificates
Description: second factor of a login (service)
 The program seconder runs the service of a second factor behind HTTPS, and
 looks after its database.
CONTROL
