#!/bin/bash
# Runs the commands of docs/operate.md, one after the other, as root on a file system that hides what is written
# from this machine: tests/deb.sh. tests/systemctl stands in for systemd, which would have to be the first
# process of the machine. In a network namespace too, because the page names ports.
# tests/operate.sh FOLDER_OF_PACKAGES
set -euo pipefail
packages=$(realpath "$1")
tests=$(realpath "$(dirname "$0")")
. "$tests/overlay.sh"
fail() {
    echo "tests/operate.sh: $*" >&2
    # What the page has started is ended with this.
    services+=($(cat "$work/system/run/seconder.pid" 2>/dev/null || true))
    exit 1
}
command -v systemd-sysusers >/dev/null && command -v systemd-tmpfiles >/dev/null || {
    echo "skipped: docs/operate.md, because systemd-sysusers or systemd-tmpfiles is not here"
    exit 0
}

# This network namespace has the loopback interface alone, which is down at first: SIOCSIFFLAGS with IFF_UP.
python3 -c 'import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh22x", b"lo", 1))'

# What somebody who begins has: the package, a certificate, and later a new version of the package.
here=$work/packages
earlier "$packages"/seconder_*.deb
mv "$here/earlier_seconder.deb" "$here/seconder_0.0.1.deb"
mkdir "$here/new"
cp "$packages"/seconder_[0-9]*.deb "$here/new/"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -days 30 \
    -addext subjectAltName=DNS:localhost -addext basicConstraints=CA:FALSE \
    -keyout "$here/key.pem" -out "$here/chain.pem" 2>/dev/null
echo the-key-of-the-messages >"$here/signing-key"
install -m 755 "$tests/systemctl" "$work/system/usr/bin/systemctl"
# The scripts of the packages look for systemd here.
mkdir -p "$work/system/etc/cron.weekly" "$work/system/run/systemd/system" "$work/system/run/seconder"
# The program to which messages are posted: it keeps the code of the last one.
"${root[@]}" python3 - <<'PROGRAM' &
import http.server, json
class Program(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if message.get("code"):
            open("/packages/code", "w").write(message["code"])
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *arguments):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", 8089), Program).serve_forever()
PROGRAM
services=($!)

# What is typed comes from the message.
{
    echo "set -eux; cd /packages"
    sed -n '/^```sh$/,/^```$/{/^```/!p}' "$tests/../docs/operate.md" |
        sed 's|--token-file - |--token-file /packages/code |'
    # The services that still run.
    echo 'systemctl stop seconder.service'
} >"$here/commands"
"${root[@]}" bash /packages/commands >"$work/log" 2>&1 || fail "docs/operate.md: $(tail -n 60 "$work/log")"
said() {
    grep -q "$1" "$work/log" || fail "no command printed \"$1\": $(cat "$work/log")"
}
for text in 'accepted by the provider' 'log_level\|log-level' '"token":"is valid"' 'the database is sound' 'ada@example.com'; do
    said "$text"
done
