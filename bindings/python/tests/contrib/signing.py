"""Callbacks as a service signs them (interface 5.5)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import json
import time
from typing import Any
from urllib.parse import quote_plus

KEY = "a-key-that-nobody-sees"
URL = "https://app.example/seconder/callback"
PATH = "/seconder/callback"
_count = itertools.count()


def parameters(**changes: Any) -> dict[str, Any]:
    """The parameters of a callback. Each call returns a different approval request."""
    uuid = f"3f05a350-4b2c-{next(_count):04}"
    return {"status": "approved", "svc_id": 7, "uuid": uuid, **changes}


def pairs(params: dict[str, Any]) -> str:
    return "&".join(f"{key}={quote_plus(str(params[key]))}" for key in sorted(params))


def headers(
    params: dict[str, Any],
    method: str = "POST",
    *,
    at: float | None = None,
    url: str = URL,
    prefix: str = "X-Svc-",
    key: str = KEY,
) -> dict[str, str]:
    """The headers of a callback with these parameters."""
    nonce = f"{int(time.time() if at is None else at)}.{next(_count)}"
    signed = "|".join([nonce, method, url, pairs(params)])
    digest = hmac.new(key.encode(), signed.encode(), hashlib.sha256).digest()
    signature = base64.b64encode(digest).decode()
    return {f"{prefix}Signature": signature, f"{prefix}Signature-Nonce": nonce}


def body(params: dict[str, Any]) -> bytes:
    return json.dumps(params).encode()
