#!/bin/bash
# Switches the profile of the module on, and removes the module while it is on. It runs in a mount
# namespace of its own, as root, where libpam-seconder is installed: tests/deb.sh.
# An argument is the prerm script of the package, which is otherwise the one that dpkg has.
set -euo pipefail
[ "$(readlink /proc/self/ns/mnt)" != "$(readlink /proc/1/ns/mnt)" ] || exit 2
prerm=${1:-$(compgen -G '/var/lib/dpkg/info/libpam-seconder*.prerm' | head -n 1)}
copies=$(mktemp -d)
trap 'rm -rf "$copies"' EXIT
for folder in /etc/pam.d /var/lib/pam /var/cache/debconf; do
    cp -a "$folder" "$copies/copy"
    mount -t tmpfs -o mode=755 tmpfs "$folder"
    cp -a "$copies/copy/." "$folder/"
    rm -r "$copies/copy"
done
auth=/etc/pam.d/common-auth
cp "$auth" "$copies/before"
fail() {
    echo "tests/pam_auth_update.sh: $*" >&2
    cat "$auth" >&2
    exit 1
}
export DEBIAN_FRONTEND=noninteractive
pam-auth-update --enable seconder
password=$(grep -n 'pam_unix\.so' "$auth" | head -n 1 | cut -d: -f1)
denied=$(grep -n 'requisite.*pam_deny\.so' "$auth" | head -n 1 | cut -d: -f1)
module=$(grep -n 'required.*pam_seconder\.so' "$auth" | head -n 1 | cut -d: -f1)
[ -n "$module" ] || fail "--enable did not switch it on"
# A wrong password ends the login before the module is asked.
[ "$password" -lt "$denied" ] && [ "$denied" -lt "$module" ] || fail "it is not after the password"
pam-auth-update --disable seconder
! grep -q pam_seconder "$auth" || fail "--disable did not switch it off"
pam-auth-update --enable seconder
grep -q pam_seconder "$auth" || fail "--enable did not switch it on again"
# What dpkg runs before it removes the module.
"$prerm" remove
! grep -q pam_seconder "$auth" || fail "the removal left it switched on"
diff <(grep -v '^#' "$copies/before") <(grep -v '^#' "$auth") || fail "the removal changed more"
