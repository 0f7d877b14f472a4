"""Verifies right codes of authenticator apps by privacyIDEA, over kept connections to its own server of
choice, gunicorn, with TLS and a SQLite database: FOLDER CONNECTIONS TURNS

It runs in an environment that has privacyIDEA, and prints the time and the server's processor time of a
verification, and the time within which 99 % were replied to, in nanoseconds.
"""

import base64
import json
import os
import queue
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPSConnection
from pathlib import Path
from urllib.parse import urlencode

import pyotp

folder, connections, turns = Path(sys.argv[1]).resolve(), int(sys.argv[2]), int(sys.argv[3])
programs = Path(sys.executable).parent
environment = os.environ | {"PRIVACYIDEA_CONFIGFILE": str(folder / "pi.cfg")}
WARM_UP = 2
"""How many verifications each connection makes that are not counted."""


def run(*command: object) -> None:
    words = [str(word) for word in command]
    subprocess.run(words, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def set_up() -> None:
    settings = {
        "SUPERUSER_REALM": ["super"],
        "SQLALCHEMY_DATABASE_URI": f"sqlite:///{folder}/pi.sqlite",
        "SECRET_KEY": "the-key-of-the-benchmark",
        "PI_PEPPER": "the-pepper-of-the-benchmark",
        "PI_ENCFILE": f"{folder}/enckey",
        "PI_AUDIT_KEY_PRIVATE": f"{folder}/private.pem",
        "PI_AUDIT_KEY_PUBLIC": f"{folder}/public.pem",
        "PI_LOGFILE": f"{folder}/pi.log",
        "PI_LOGLEVEL": 30,
    }
    lines = (f"{name} = {value!r}\n" for name, value in settings.items())
    (folder / "pi.cfg").write_text("".join(lines))
    for what in ("create_enckey", "create_audit_keys", "create_tables"):
        run(programs / "pi-manage", "setup", what)
    names = ("-keyout", folder / "key.pem", "-out", folder / "certificate.pem")
    name = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", *names, *name)


def tokens(count: int) -> Iterator[tuple[str, str]]:
    """Makes so many authenticator apps, and yields their serial numbers and secrets."""
    from privacyidea.app import create_app
    from privacyidea.lib.token import init_token

    with create_app("production", config_file=str(folder / "pi.cfg"), silent=True).app_context():
        for number in range(count):
            secret = os.urandom(20)
            serial = f"TOTP{number:08}"
            init_token({"type": "totp", "otpkey": secret.hex(), "serial": serial, "hashlib": "sha1"})
            yield serial, secret.hex()


@contextmanager
def serving() -> Iterator[tuple[int, int]]:
    """Runs the server, and yields its port and its process."""
    command = [programs / "gunicorn", "--workers=3", "--threads=8", "--keep-alive=60", "--bind=127.0.0.1:0"]
    command += [f"--certfile={folder}/certificate.pem", f"--keyfile={folder}/key.pem"]
    command += [f"privacyidea.app:create_app('production', config_file='{folder}/pi.cfg', silent=True)"]
    words = [str(word) for word in command]
    with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            lines = (line for line in server.stderr if "Listening at: " in line)
            port = int(next(lines).split("127.0.0.1:")[1].split()[0])
            threading.Thread(target=server.stderr.read, daemon=True).start()
            yield port, server.pid
        finally:
            server.terminate()


def processor_time(process: int) -> int:
    """That of its workers, in nanoseconds."""
    ticks = 0
    for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
        fields = Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def main() -> None:
    set_up()
    warm_up = connections * WARM_UP
    waiting: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
    for token in tokens(warm_up + turns):
        waiting.put(token)
    times: list[int] = []
    trusted = ssl.create_default_context(cafile=str(folder / "certificate.pem"))

    def verify(connection: HTTPSConnection) -> None:
        serial, secret = waiting.get_nowait()
        code = pyotp.TOTP(base64.b32encode(bytes.fromhex(secret)).decode()).now()
        form = urlencode({"serial": serial, "pass": code})
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        begun = time.perf_counter_ns()
        connection.request("POST", "/validate/check", form, headers)
        reply = json.loads(connection.getresponse().read())
        times.append(time.perf_counter_ns() - begun)
        if reply["result"].get("value") is not True:
            raise SystemExit(f"a right code was rejected: {reply}")

    with serving() as (port, process):
        barrier = threading.Barrier(connections + 1)

        def work() -> None:
            connection = HTTPSConnection("localhost", port, context=trusted, timeout=60)
            try:
                for _ in range(WARM_UP):
                    verify(connection)
                barrier.wait()
                barrier.wait()
                while not waiting.empty():
                    try:
                        verify(connection)
                    except queue.Empty:
                        break
                barrier.wait()
            except BaseException:
                barrier.abort()
                raise

        for _ in range(connections):
            threading.Thread(target=work, daemon=True).start()
        barrier.wait()
        times.clear()
        begun, used = time.perf_counter_ns(), processor_time(process)
        barrier.wait()
        barrier.wait()
        took, used = time.perf_counter_ns() - begun, processor_time(process) - used
    times.sort()
    json.dump({"time": took / turns, "cpu": used / turns, "p99": times[len(times) * 99 // 100]}, sys.stdout)


main()
