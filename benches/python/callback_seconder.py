"""Verifies a callback and reads its event, with seconder: BODY SIGNATURE TURNS"""

import sys
from pathlib import Path

from measure import measure
from seconder import callback

body, signature, turns = Path(sys.argv[1]).read_bytes(), sys.argv[2], int(sys.argv[3])


def verify() -> None:
    event = callback.verify(
        api_key="the-key-of-the-benchmark",
        url="https://app.example/callback",
        method="POST",
        body=body,
        signature=signature,
        nonce="1700000000.5",
        fresh=None,
    )
    if not event.approved_by(12345):
        raise SystemExit("the user did not approve")


measure(verify, turns)
