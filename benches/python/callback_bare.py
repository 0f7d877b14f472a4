"""What no check in Python can do without, by CPython's own modules, which are in C: the body is parsed,
and what is signed of it has its HMAC. The pairs that are signed are not made of the body here:
BODY TURNS"""

import hmac
import json
import sys
from pathlib import Path

from measure import measure
from seconder import callback

body, turns = Path(sys.argv[1]).read_bytes(), int(sys.argv[2])
signed = f"1700000000.5|POST|https://app.example/callback|{callback.query(body)}".encode()


def verify() -> None:
    if json.loads(body)["svc_id"] != 12345:
        raise SystemExit("another user")
    hmac.digest(b"the-key-of-the-benchmark", signed, "sha256")


measure(verify, turns)
