"""Makes push messages with pywebpush, which reads its key from a file for each as its authors show, or
keeps it in memory: file|memory TURNS"""

import base64
import json
import sys
import tempfile
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from measure import measure
from py_vapid import Vapid
from pywebpush import webpush

where, turns = sys.argv[1], int(sys.argv[2])


def text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Accepted:
    """The response of a push service."""

    status_code, text, headers = 201, "", {}


class Nowhere:
    """What pywebpush posts to. It keeps the body, to show that there is one."""

    body = b""

    def post(self, endpoint: str, *, data: bytes, **rest: object) -> Accepted:
        self.body = data
        return Accepted()


point = ec.generate_private_key(ec.SECP256R1()).public_key()
p256dh = text(point.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))
subscription = {"endpoint": "https://push.example/1", "keys": {"p256dh": p256dh, "auth": text(b"\7" * 16)}}
# As long as that of benches/phones.rs.
message = json.dumps({"web_push": 8030, "notification": "x" * 225})
session = Nowhere()

with tempfile.TemporaryDirectory() as folder:
    vapid = Vapid()
    vapid.generate_keys()
    file = Path(folder) / "private.pem"
    vapid.save_key(str(file))
    key = {"file": str(file), "memory": vapid}[where]

    def push() -> None:
        webpush(
            subscription,
            data=message,
            vapid_private_key=key,
            vapid_claims={"sub": "https://login.example"},
            requests_session=session,
            ttl=60,
        )
        if len(session.body) <= len(message):
            raise SystemExit("no message")

    measure(push, turns)
