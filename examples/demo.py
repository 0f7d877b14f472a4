"""The second factor of a login, from enrolling a user to rejecting an attacker's guesses.

It needs only the package `seconder` and leaves nothing behind: `python examples/demo.py`.
"""

import tempfile
import threading
import warnings
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue
from typing import Any, TypeVar

import seconder

E = TypeVar("E", bound=seconder.SecondFactorError)


def main() -> None:
    # There is no gateway here: Ada's phone is the folder that the messages are written to.
    warnings.simplefilter("ignore", seconder.SpoolWarning)
    with tempfile.TemporaryDirectory() as folder, CallbackServer() as server:
        database = Path(folder, "demo.db")
        with seconder.open(
            f"sqlite:{database}", engine=seconder.EngineOptions(callback_url=server.url)
        ) as service:
            server.api_key = service.admin.api_key()
            spool = database.with_suffix(".spool")
            user = sign_up(service, spool)
            log_in_by_sms(service, user.user_id, spool)
            log_in_by_authenticator(service, user.user_id)
            log_in_by_approval(service, user.user_id, server.events)
            keep_an_attacker_out(service, user.user_id)
    print("Everything worked as expected.")


def sign_up(service: seconder.Service, spool: Path) -> seconder.results.UserCreated:
    """Enrols nobody before a code proves that the number is theirs."""
    service.start_phone_verification("sms", "555-010-0123", 1)
    service.check_phone_verification("555-010-0123", 1, latest_code(spool))
    print("Ada typed the code that was sent to the number, so it is hers.")
    user = service.create_user("ada@example.com", "555-010-0123", 1, new_only=True)
    must(user.created is True, "say that she is new")
    print(f"Ada is enrolled. The application stores her id: {user.user_id}.")
    rejection(
        seconder.Rejected,
        service.create_user,
        "eve@example.com",
        "555-010-0123",
        1,
        new_only=True,
    )
    return user


def log_in_by_sms(service: seconder.Service, user_id: int, spool: Path) -> None:
    sent = service.request_sms(user_id)
    print(f"A code is on its way to {sent.cellphone}.")
    code = latest_code(spool)
    rejection(seconder.NotChecked, service.verify, user_id, code, force=False)
    service.verify(user_id, code)
    print("Checked with force, the code is right: Ada is in.")
    error = rejection(seconder.TokenInvalid, service.verify, user_id, code)
    must(error.reused, "report that the code has been used")


def log_in_by_authenticator(service: seconder.Service, user_id: int) -> None:
    app = service.enrol_authenticator(user_id)
    print("Ada scans a QR code with her authenticator app.")
    service.verify(user_id, seconder.totp.code(app.uri))
    print("The code that the app shows is right: Ada is in.")
    error = rejection(seconder.TokenMalformed, service.verify, user_id, "../sms")
    must(error.parameter == "token", "name the parameter")


def log_in_by_approval(
    service: seconder.Service, user_id: int, events: "Queue[seconder.results.Event]"
) -> None:
    phone = service.register_device(user_id, "android")
    details = {"city": "Oslo"}
    request = service.create_approval(
        user_id, "Log in to Example?", details=details, seconds_to_expire=300, number_digits=2
    )
    print("Ada's phone asks her: Log in to Example?")
    # She reads the number on the login page, and types it on the phone.
    service.respond_to_approval(
        request.uuid,
        device_id=phone.device_id,
        device_secret=phone.secret,
        response="approve",
        number=request.number,
    )
    event = events.get(timeout=10)
    must(event.uuid == request.uuid and event.approved_by(user_id), "report Ada's response")
    print("A callback reports that Ada approved, and its signature is valid.")
    must(service.check_approval(request.uuid).approved_by(user_id), "return the same status")
    print("The service returns the same status: Ada is in.")


def keep_an_attacker_out(service: seconder.Service, user_id: int) -> None:
    print("An attacker guesses.")
    for guess in ("1234567", "1234568", "1234569", "1234570"):
        rejection(seconder.TokenInvalid, service.verify, user_id, guess)
    error = rejection(seconder.RateLimited, service.verify, user_id, "1234571")
    must(error.retry_after is not None, "report how long to wait")


class CallbackServer(HTTPServer):
    """The application's web server, which accepts a callback only if its signature is valid."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), CallbackHandler)
        self.url = f"http://127.0.0.1:{self.server_port}/callback"
        self.api_key = ""
        self.events: Queue[seconder.results.Event] = Queue()
        threading.Thread(target=self.serve_forever).start()

    def server_close(self) -> None:
        self.shutdown()
        super().server_close()


class CallbackHandler(BaseHTTPRequestHandler):
    server: CallbackServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            event = seconder.callback.verify(
                api_key=self.server.api_key,
                url=self.server.url,
                method="POST",
                body=body,
                signature=self.headers["X-Svc-Signature"],
                nonce=self.headers["X-Svc-Signature-Nonce"],
            )
        except seconder.InvalidCallback:
            self.send_error(401)
            return
        self.server.events.put(event)
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing: the demonstration prints what matters."""


def latest_code(spool: Path) -> str:
    """Reads the code as Ada would: without a gateway, messages are files in a folder."""
    message = max(spool.iterdir()).read_text()
    return next(line[6:] for line in message.splitlines() if line.startswith("Code: "))


def rejection(kind: type[E], call: Callable[..., object], *args: object, **options: object) -> E:
    try:
        call(*args, **options)
    except kind as error:
        print(f"Rejected, as expected: {error}.")
        return error
    raise SystemExit(f"The call should have raised {kind.__name__}, but it succeeded.")


def must(right: bool, what: str) -> None:
    if not right:
        raise SystemExit(f"The service did not {what}.")


if __name__ == "__main__":
    main()
