"""A push service of the tests: what the vendor of a browser runs, for Firefox.

A browser connects by WebSocket and speaks autopush's protocol. Whoever has an endpoint posts there, as
RFC 8030 says, and proves by RFC 8292 that the endpoint was made for it."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
import uuid
from collections import deque
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from processes import wait


@dataclass
class Pushed:
    """A request to an endpoint."""

    channel: str
    headers: Message
    body: bytes
    status: int
    problem: str
    """What was wrong with the request, if anything."""


@dataclass
class Channel:
    """A subscription."""

    browser: str
    key: str
    """The public key of the only one who may post here."""
    removed: bool = False


class PushService:
    """Listens on this machine until `close`."""

    def __init__(self) -> None:
        self.pushed: list[Pushed] = []
        self.replies: deque[tuple[int, dict[str, str]]] = deque()
        """Statuses and headers to reply to the next requests with, whatever they are."""
        self.acknowledged: list[int] = []
        """What a browser did with each message: 100 is that its service worker got it."""
        self.channels: dict[str, Channel] = {}
        self.browsers: dict[str, Connection] = {}
        service = self

        class Handler(_Handler):
            push_service = service

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.origin = f"http://{self.host}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def wait(self, count: int) -> Pushed:
        """Waits until there were so many requests, and returns the last of them."""
        return wait(lambda: self.pushed[count - 1 : count], f"push {count}")[0]

    def forget(self) -> None:
        """Ends all subscriptions, as vendors do after a time. The browsers do not notice."""
        for channel in self.channels.values():
            channel.removed = True

    def post(self, name: str, headers: Message, body: bytes) -> tuple[int, dict[str, str]]:
        """Returns the status and the headers of the reply to a request to an endpoint."""
        channel = self.channels.get(name)
        problem = self._problem(headers, body, channel.key) if channel else ""
        message = uuid.uuid4().hex
        reply: dict[str, str] = {}
        if self.replies:
            status, reply = self.replies.popleft()
        elif channel is None:
            status = 404
        elif channel.removed:
            status = 410
        elif problem:
            status = 403
        else:
            status = 201
            reply = {"Location": f"{self.origin}/message/{message}", "TTL": headers["TTL"]}
            self.browsers[channel.browser].send(
                {
                    "messageType": "notification",
                    "channelID": name,
                    "version": message,
                    "data": base64.urlsafe_b64encode(body).decode().rstrip("="),
                    "headers": {"encoding": headers["Content-Encoding"]},
                }
            )
        self.pushed.append(Pushed(name, headers, body, status, problem))
        return status, reply

    def _problem(self, headers: Message, body: bytes, key: str) -> str:
        if headers.get("Content-Encoding") != "aes128gcm":
            return "the encoding is not aes128gcm"
        if not headers.get("TTL", "").isdecimal():
            return "there is no TTL"
        if headers.get("Urgency", "normal") not in ("very-low", "low", "normal", "high"):
            return "no such urgency"
        if not 0 < len(body) <= 4096:
            return "the body is too large"
        return vapid_problem(headers.get("Authorization", ""), self.origin, key)

    def converse(self, connection: Connection) -> None:
        """Replies to what a browser sends."""
        browser = ""
        while (message := connection.receive()) is not None:
            kind = message.get("messageType")
            reply: dict[str, object] = {}
            if kind == "hello":
                browser = message.get("uaid") or uuid.uuid4().hex
                self.browsers[browser] = connection
                reply = {"uaid": browser, "use_webpush": True, "broadcasts": {}}
            elif kind == "register":
                name = message["channelID"]
                self.channels[name] = Channel(browser, message["key"])
                reply = {"channelID": name, "pushEndpoint": f"{self.origin}/push/{name}"}
            elif kind == "unregister":
                self.channels[message["channelID"]].removed = True
                reply = {"channelID": message["channelID"]}
            elif kind in ("ack", "nack"):
                self.acknowledged += [one["code"] for one in message.get("updates", [message])]
                continue
            elif not message:
                connection.send({})
                continue
            else:
                continue
            connection.send({"messageType": kind, "status": 200, **reply})


def decode(text: str) -> bytes:
    """Decodes Base64 of URLs, without padding."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def vapid_problem(authorization: str, origin: str, key: str) -> str:
    """What is wrong with an Authorization field of RFC 8292, by the strictest of the vendors."""
    scheme, _, rest = authorization.partition(" ")
    given = dict(part.strip().partition("=")[::2] for part in rest.split(","))
    if scheme != "vapid" or given.keys() != {"t", "k"}:
        return "the scheme is not vapid, with t and k"
    if decode(given["k"]) != decode(key):
        return "the subscription was made for another key"
    signed, _, signature = given["t"].rpartition(".")
    header, claims = (json.loads(decode(part)) for part in signed.split("."))
    halves = decode(signature)
    numbers = int.from_bytes(halves[:32], "big"), int.from_bytes(halves[32:], "big")
    public = EllipticCurvePublicKey.from_encoded_point(SECP256R1(), decode(key))
    try:
        public.verify(encode_dss_signature(*numbers), signed.encode(), ECDSA(SHA256()))
    except InvalidSignature:
        return "the signature is wrong"
    if header["alg"] != "ES256" or len(halves) != 64:
        return "the algorithm is not ES256"
    if claims["aud"] != origin:
        return "the audience is not the origin of the endpoint"
    if not 0 < claims["exp"] - time.time() <= 24 * 3600:
        return "it is expired, or valid for more than a day"
    if not claims["sub"].startswith("https://"):
        return "the subject is no https: URL"
    return ""


class _Handler(BaseHTTPRequestHandler):
    push_service: PushService
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *arguments: object) -> None:
        """Writes nothing: the tests look at `pushed`."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        name = self.path.removeprefix("/push/")
        status, headers = self.push_service.post(name, self.headers, body)
        self.send_response(status)
        for field, value in {**headers, "Content-Length": "0"}.items():
            self.send_header(field, value)
        self.end_headers()

    def do_GET(self) -> None:
        """Begins a WebSocket, RFC 6455."""
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", accept)
        if self.headers["Sec-WebSocket-Protocol"]:
            self.send_header("Sec-WebSocket-Protocol", self.headers["Sec-WebSocket-Protocol"])
        self.end_headers()
        self.close_connection = True
        self.push_service.converse(Connection(self))


class Connection:
    """The WebSocket of a browser. Every message is a JSON text in one frame."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self._reader, self._writer = handler.rfile, handler.wfile
        self._writing = threading.Lock()

    def send(self, message: object) -> None:
        self._send(0x81, json.dumps(message).encode())

    def _send(self, head: int, data: bytes) -> None:
        length = bytes([len(data)]) if len(data) < 126 else b"\x7e" + len(data).to_bytes(2, "big")
        with self._writing:
            self._writer.write(bytes([head]) + length + data)

    def receive(self) -> Any:
        """The next message, or None at the end."""
        while head := self._reader.read(2):
            length = head[1] & 0x7F
            if length >= 126:
                length = int.from_bytes(self._reader.read(2 if length == 126 else 8), "big")
            mask = self._reader.read(4) * (length // 4 + 1)
            data = bytes(a ^ b for a, b in zip(self._reader.read(length), mask))
            if head[0] == 0x81:
                return json.loads(data)
            if head[0] == 0x88:
                break
            if head[0] == 0x89:
                self._send(0x8A, data)
        return None
