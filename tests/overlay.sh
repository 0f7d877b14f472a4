# The root of this machine under an overlay that hides what is written there. To be sourced, as root in a mount
# namespace of its own: it defines `root`, the words that begin a command in the overlay.

[ "$(readlink /proc/self/ns/mnt)" != "$(readlink /proc/1/ns/mnt)" ] || exit 2
work=$(mktemp -d)
mount -t tmpfs tmpfs "$work"
# What runs in the overlay, by process id.
services=()
clean() {
    local service
    for service in "${services[@]}"; do
        kill "$service" 2>/dev/null || true
    done
    # The temporary file system goes with the namespace, its folder does not.
    umount -l "$work"
    rmdir "$work"
}
trap clean EXIT
mkdir "$work/packages" "$work/changed" "$work/overlay" "$work/system"
mount -t overlay overlay "$work/system" \
    -o "lowerdir=/,upperdir=$work/changed,workdir=$work/overlay" 2>/dev/null || {
    echo "skipped: $0, because there are no overlays of / here"
    exit 0
}
mount -t proc proc "$work/system/proc"
mount --rbind /dev "$work/system/dev"
mkdir -p "$work/system/packages"
mount --bind "$work/packages" "$work/system/packages"
root=(chroot "$work/system" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
    DEBIAN_FRONTEND=noninteractive)

# Copies the package of that name, with a version of before.
earlier() { # PACKAGE.deb
    local name tree=$work/tree
    name=$(basename "$1")
    dpkg-deb -R "$1" "$tree"
    sed -i -e 's/^Version: .*/Version: 0.0.1/' -e 's/(= [0-9.]*)/(= 0.0.1)/' \
        -e '/^Breaks:\|^Replaces:/d' "$tree/DEBIAN/control"
    # The pages of section 7 have moved from there to the package of the program.
    case $name in
        seconder_*) [ ! -d "$tree/usr/share/man/man7" ] || mv "$tree/usr/share/man/man7" "$work/moved" ;;
        libseconder-dev_*) [ ! -d "$work/moved" ] || mv "$work/moved" "$tree/usr/share/man/man7" ;;
    esac
    dpkg-deb -Zgzip -z1 --build "$tree" "$work/packages/earlier_${name%%_*}.deb" >/dev/null
    rm -r "${tree:?}"
}
