"""Callbacks: what a service posts when a user answered an approval request (sections 5.5, 6)."""

from __future__ import annotations

from seconder import _seconder
from seconder.results import Event


def verify(
    *,
    api_key: str,
    url: str,
    method: str,
    body: bytes = b"",
    query: str = "",
    signature: str | None,
    nonce: str | None,
) -> Event:
    """Checks a callback's signature and reads it. Believe nothing of a callback before.

    Args:
        api_key: The application's API key, which the service signs with.
        url: The callback URL as it is configured with the service: scheme included, no
            parameters. Never take it from the request's ``Host``.
        method: The request's method, ``POST`` or ``GET``.
        body: The raw body of a POST; for a GET, nothing.
        query: The raw query of a GET, without the ``?``; for a POST, nothing.
        signature: The header ``X-Svc-Signature``, None when it is missing.
        nonce: The header ``X-Svc-Signature-Nonce``, None when it is missing.

    Raises:
        Forged: The callback is not from the service; answer it with status 401.
    """
    event = _seconder.verify_callback(
        api_key=api_key,
        url=url,
        method=method,
        body=body,
        query=query,
        signature=signature or "",
        nonce=nonce or "",
    )
    return Event._read(event)
