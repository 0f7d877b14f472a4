"""The address of the visitor whose request is handled, by which the service limits messages and tries."""

from __future__ import annotations

import ipaddress
import logging
import threading
from collections.abc import Callable
from typing import Any

from seconder.errors import InvalidArgument

PROXY_HEADERS = ("X-Forwarded-For", "Forwarded", "Via")
"""The headers by which a proxy shows itself. A visitor can send them too."""

_log = logging.getLogger("seconder.contrib")
_lock = threading.Lock()
_logged: set[str] = set()


def of_request(
    request: Any,
    function: Callable[[Any], Any] | None,
    setting: str,
    *,
    address: str | None,
    header: Callable[[str], str | None],
) -> str | None:
    """Returns the address of the visitor who made a request, or None if it is not known.

    Args:
        request: The request, for the function.
        function: The application's function that returns the address, or None if it has none. Then it is
            the address of the connection, if that is one of the public Internet.
        setting: The setting for that function.
        address: The address of the connection, if it has one.
        header: Returns a header of the request.

    Raises:
        InvalidArgument: The function returned no address; ``parameter`` is the setting.
    """
    if function is None:
        return _of_connection(address, header, setting)
    found = function(request)
    if found is None:
        return None
    known = _parsed(found)
    if known is None:
        text = f"{setting} returned {found!r:.80}: it must return an IP address without a port, or None"
        raise InvalidArgument(text, parameter=setting)
    return str(known)


def _of_connection(
    address: str | None, header: Callable[[str], str | None], setting: str
) -> str | None:
    """Returns the connection's address if it is public. Any other is more likely to be a proxy's
    than a visitor's: with one, all visitors would share one limit. A public one counts despite the
    headers, because otherwise a visitor could switch the limits off by sending them."""
    known = _parsed(address)
    if known is None or not known.is_global:
        _log_once(
            "the service does not learn the visitors' addresses, so its limits for each of them do not "
            "apply: requests come from %s, which is no public address. Set %s to a function that "
            "returns the visitor's address.",
            address or "an unknown address",
            setting,
        )
        return None
    named = next((each for each in PROXY_HEADERS if header(each) is not None), None)
    if named is not None:
        _log_once(
            "a request from %s has the header %s: if that is the address of a proxy, all its visitors "
            "share one limit, and can lock each other out. Set %s to a function that returns the "
            "visitor's address.",
            known,
            named,
            setting,
        )
    return str(known)


def _parsed(address: object) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    if not isinstance(address, str) or "%" in address:
        return None
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return None
    # As a server that listens on IPv6 names IPv4.
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found


def _log_once(text: str, *values: object) -> None:
    """Logs a warning once in each process."""
    with _lock:
        first = text not in _logged
        _logged.add(text)
    if first:
        _log.warning(text, *values)
