"""Logs users in with the module and the program of two wheels: ``python try_wheel.py FOLDER
COMMAND...``, with the folder in which the module is, and the command that runs the program. It is
for Pythons of other systems and processors too, so it needs the standard library alone."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, sys.argv[1])

import exits  # noqa: E402

import seconder  # noqa: E402


def log_in(service: seconder.Service, code: str, user_id: int) -> None:
    service.verify(user_id, code)
    try:
        service.verify(user_id, "0000000" if code != "0000000" else "1111111")
    except seconder.TokenInvalid:
        return
    raise AssertionError("a wrong code was accepted")


def enrol(service: seconder.Service) -> int:
    return service.create_user("ada@example.com", "555-010-0123", 1).user_id


def end(state: str, folder: str) -> None:
    """Ends the interpreter of a child in the middle of a call."""
    child = os.fork()
    if child == 0:
        exits.begin(state, Path(folder))
        sys.exit()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0, f"at the end of the interpreter, {state} ended with {status}"


def main(program: list[str]) -> None:
    assert seconder.__file__.startswith(sys.argv[1]), seconder.__file__
    for state in exits.STATES:
        with tempfile.TemporaryDirectory() as folder:
            end(state, folder)

    with seconder.open("sandbox:?accept=1234567") as service:
        log_in(service, "1234567", enrol(service))

    with tempfile.TemporaryDirectory() as folder:
        sent: list[seconder.Message] = []
        with seconder.open(f"sqlite:{folder}/own.db", deliver=sent.append) as service:
            user_id = enrol(service)
            service.request_sms(user_id)
            log_in(service, sent[-1].code, user_id)

        certificate = f"{folder}/certificate.pem"
        options = ["--listen", "127.0.0.1:0", "--self-signed", "--certificate-out", certificate]
        key = Path(folder, "key")
        key.write_text("0123456789abcdef0123456789abcdef")
        key.chmod(0o600)
        command = [*program, "serve", "--log-format=human", *options, "--api-key-file", str(key)]
        command += ["--database", "sandbox:?accept=1234567"]
        serving = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert serving.stderr is not None
            lines = iter(serving.stderr.readline, "")
            url = next(
                found[1]
                for line in lines
                if (found := re.search(r"listening on (https://\S+)", line))
            )
            with seconder.open(
                url, api_key=key.read_text(), client=seconder.ClientOptions(ca_file=certificate)
            ) as service:
                log_in(service, "1234567", enrol(service))
        finally:
            serving.terminate()
            serving.wait(30)
            serving.communicate()
    libc = "-".join(platform.libc_ver()).strip("-") or "musl"
    print(f"Python {platform.python_version()} on {platform.machine()} with {libc}: works")


if __name__ == "__main__":
    main(sys.argv[2:])
