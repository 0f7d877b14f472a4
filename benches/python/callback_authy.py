"""The same check with the old service's client, which requires the parsed body:
BODY SIGNATURE TURNS"""

import json
import sys
from pathlib import Path

from authy.api import AuthyApiClient
from measure import measure

body, signature, turns = Path(sys.argv[1]).read_bytes(), sys.argv[2], int(sys.argv[3])
client = AuthyApiClient("the-key-of-the-benchmark")


def verify() -> None:
    params = json.loads(body)
    if not client.one_touch.validate_one_touch_signature(
        signature, "1700000000.5", "POST", "https://app.example/callback", params
    ):
        raise SystemExit("the signature is invalid")
    if params["status"] != "approved" or params["svc_id"] != 12345:
        raise SystemExit("the user did not approve")


measure(verify, turns)
