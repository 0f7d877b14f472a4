"""Serves the approver until Ctrl-C, for a person to try: `make demo DEMO=serve` runs it.

It leaves nothing behind. With DEMO_HOST, a name of this machine that phones know, they reach it.
"""

import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import seconder

HOST = os.environ.get("DEMO_HOST", "localhost")


def main(program: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = Path(folder, "certificate.pem"), secrets.token_hex(32)
        address = f"{'127.0.0.1' if HOST == 'localhost' else '0.0.0.0'}:{free_port()}"
        url = f"https://{HOST}:{address.rpartition(':')[2]}"
        database = f"--database=sqlite:{folder}/demo.db"
        Path(folder, "key").write_text(key)
        command = [program, "serve", database, f"--api-key-file={folder}/key"]
        command += [f"--listen={address}", f"--public-url={url}", "--application-name=Example"]
        command += certified(certificate)
        log = Path(folder, "log")
        with open(log, "w") as out, subprocess.Popen(command, stdout=out, stderr=out) as server:
            try:
                wait_for(server, log)
                with seconder.open(
                    url, api_key=key, client=seconder.ClientOptions(ca_file=certificate)
                ) as service:
                    user = service.create_user("ada@example.com", "555-010-0123", 1)
                    invite = [program, "user", "invite-device", database, f"--user={user.user_id}"]
                    subprocess.run(invite, check=True)
                    print(advice(certificate))
                    ask(service, user.user_id)
            except (KeyboardInterrupt, EOFError):
                print("\nThe demo has ended.")
            finally:
                server.terminate()


def advice(certificate: Path) -> str:
    """Returns what the person has to do before the link is of use."""
    if HOST != "localhost":
        return f"Install {certificate} on the phone first, as docs/approver.md says.\n"
    return (
        f"Open the link in a browser on this machine. It warns of the certificate, {certificate}\n"
        "Once the warning is passed, the page works, but cannot be installed. For a phone, run it\n"
        "again with DEMO_HOST=NAME, a name by which the phone reaches this machine.\n"
    )


def ask(service: seconder.Service, user_id: int) -> None:
    """Asks for an approval on each Enter."""
    while True:
        input("Press Enter to log in as Ada once the phone is registered, or Ctrl-C to end. ")
        request = service.create_approval(
            user_id,
            "Log in to Example?",
            details={"Device": "The terminal of the demo"},
            seconds_to_expire=120,
            number_digits=2,
        )
        print(f"Type {request.number} on the phone.", flush=True)
        approval = service.wait_for_approval(request.uuid, user_id, timeout=125)
        print("Welcome, Ada." if approval.approved_by(user_id) else f"It is {approval.status}.")


def certified(trusted: Path) -> list[str]:
    """Returns the options for a certificate of the host. What phones have to trust is written to
    this file, when the service starts at the latest: the certificate, or the authority of it."""
    if HOST == "localhost":
        return ["--self-signed", f"--certificate-out={trusted}"]
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 7".split()
    paths = [trusted, trusted.with_suffix(".key"), trusted.with_name("host.pem")]
    authority, its_key, certificate = map(str, paths)
    private = f"{certificate}.key"
    top = ["-subj", "/CN=Demo of Seconder", "-keyout", its_key, "-out", authority]
    issued = ["-CA", authority, "-CAkey", its_key, "-subj", f"/CN={HOST}"]
    issued += ["-addext", f"subjectAltName=DNS:{HOST}"]
    issued += ["-addext", "basicConstraints=critical,CA:FALSE"]
    # iPhones require it.
    issued += ["-addext", "extendedKeyUsage=serverAuth"]
    issued += ["-keyout", private, "-out", certificate]
    for options in (top, issued):
        subprocess.run([*make, *options], check=True, stderr=subprocess.DEVNULL)
    return [f"--certificate={certificate}", f"--key={private}"]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def wait_for(server: subprocess.Popen[bytes], log: Path) -> None:
    while "listening on" not in log.read_text():
        if server.poll() is not None:
            sys.exit(log.read_text())
        time.sleep(0.05)


if __name__ == "__main__":
    main(sys.argv[1])
