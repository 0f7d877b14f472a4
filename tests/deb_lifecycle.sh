#!/bin/bash
# Installs the Debian packages in an earlier version, upgrades, removes and purges them, and checks that a
# database survives all but the last, and that nothing is left. It runs as root in a mount namespace of its
# own, on a file system that hides what is written from this machine: tests/deb.sh.
# tests/deb_lifecycle.sh FOLDER_OF_PACKAGES
set -euo pipefail
packages=$(realpath "$1")
fail() {
    echo "tests/deb_lifecycle.sh: $*" >&2
    exit 1
}

. "$(dirname "$0")/overlay.sh"
for package in seconder libpam-seconder libseconder0 libseconder-dev; do
    cp "$packages/${package}"_*.deb "$work/packages/"
    earlier "$packages/${package}"_*.deb
done

run() {
    "${root[@]}" "$@"
}
dpkg_() {
    run dpkg "$@" >"$work/dpkg.log" 2>&1 || fail "dpkg $* failed: $(cat "$work/dpkg.log")"
    # dpkg does not know that /lib/*/security of other packages is the same folder as that in /usr/lib.
    ! grep -i warning "$work/dpkg.log" | grep -v "security' not empty" || fail "dpkg $* warned: $(cat "$work/dpkg.log")"
}
version() {
    run dpkg-query -W -f='${Version}' seconder
}

dpkg_ -i $(cd "$work/packages" && printf '/packages/%s ' earlier_*.deb)
[ "$(version)" = 0.0.1 ] || fail "the earlier version was not installed"
owner=root
if command -v systemd-sysusers >/dev/null; then
    run getent passwd seconder >/dev/null || fail "the user of the service was not created"
    owner=seconder
fi
database=sqlite:/var/lib/seconder/seconder.db
program=("${root[@]}" setpriv --reuid "$owner" --regid "$owner" --clear-groups seconder)
seconder() {
    "${program[@]}" "$@"
}
run install -d -m 700 -o "$owner" -g "$owner" /var/lib/seconder
# The service creates the database.
"${program[@]}" serve --database "$database" --unix /var/lib/seconder/socket 2>"$work/serve.log" &
services=($!)
for _ in {1..1200}; do
    [ ! -S "$work/system/var/lib/seconder/socket" ] || break
    sleep 0.1
done
user=$(seconder user create --database "$database" --email ada@example.com --cellphone 2025550123 \
    --country-code 1 | sed -n 's/^user_id //p') || fail "no user was created: $(cat "$work/serve.log")"
before=$(seconder user show --database "$database" --user "$user") ||
    fail "the service does not run: $(cat "$work/serve.log")"
kill "${services[0]}"
wait "${services[0]}" || fail "the service failed: $(cat "$work/serve.log")"
services=()

# That of the program first, as apt may do it: then both would own the pages that moved to it, if it did not say so.
dpkg_ --auto-deconfigure -i $(cd "$work/packages" && printf '/packages/%s ' seconder_*.deb lib*.deb)
[ "$(version)" != 0.0.1 ] || fail "the packages were not upgraded"
[ "$(run dpkg-query -S /usr/share/man/man7/seconder-protocol.7.gz)" = \
    "seconder: /usr/share/man/man7/seconder-protocol.7.gz" ] || fail "seconder-protocol(7) is not that of seconder"
[ "$(seconder user show --database "$database" --user "$user")" = "$before" ] ||
    fail "the upgrade changed the user"

dpkg_ -r libpam-seconder libseconder-dev libseconder0 seconder
[ -e "$work/system/var/lib/seconder/seconder.db" ] || fail "the removal deleted the database"
[ ! -e "$work/system/usr/bin/seconder" ] || fail "the removal left the program"
# Those that have nothing to purge are gone already. Without a terminal, nothing is asked and the database stays.
run cp /var/lib/dpkg/info/seconder.postrm /packages/postrm
dpkg_ -P libpam-seconder seconder
for file in seconder.db seconder.db.keys; do
    [ -e "$work/system/var/lib/seconder/$file" ] || fail "a purge without a terminal deleted $file"
done
for answer in "" yes; do
    [ -e "$work/system/var/lib/seconder/seconder.db" ] || fail "a purge deleted the database without a yes"
    printf '%s\n' "$answer" | run env DEBIAN_FRONTEND=dialog script -qec "sh /packages/postrm purge" /dev/null >"$work/purge.log" ||
        fail "the purge failed: $(cat "$work/purge.log")"
done
[ ! -e "$work/system/var/lib/seconder" ] || fail "the purge left the database, although it was asked to delete it"

# What dpkg and the system note for themselves, and the user, stay.
left=$(cd "$work/changed" && find . -mindepth 1 ! -path './packages' ! -path './tmp*' \
    ! -path './var/lib/dpkg*' ! -path './var/log/*' ! -path './var/cache/*' ! -path './etc/ld.so.cache*' \
    ! -path './etc/passwd*' ! -path './etc/group*' ! -path './etc/*shadow*' ! -path './etc/.pwd.lock' \
    ! -path './var/lib/pam*' ! -type d)
for file in $left; do
    # A file that was there before, and that pam-auth-update or ldconfig has written again as it was.
    [ -e "/$file" ] && cmp -s "/$file" "$work/changed/$file" && continue
    fail "a purge left $file behind"
done
for folder in $(cd "$work/changed" && find . -mindepth 1 -type d ! -path './packages' ! -path './tmp*' \
    ! -path './var/cache/*' ! -path './var/lib/dpkg*' ! -path './var/log/*'); do
    [ -d "/$folder" ] || fail "a purge left the folder $folder behind"
done
