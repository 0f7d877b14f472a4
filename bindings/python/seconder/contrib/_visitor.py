"""The address of the visitor whose request is handled, by which the service limits messages and tries."""

from __future__ import annotations

import ipaddress
import logging
import threading

_log = logging.getLogger("seconder.contrib")
_lock = threading.Lock()
_warned = False


def of_connection(address: str | None, setting: str) -> str | None:
    """Returns the address from which a request came, if it is one of the public Internet. All others
    are more likely to be a proxy's than a visitor's: with it, all visitors would share one limit. So
    there is none then, and the log says so once in each process.

    Args:
        address: The address of the connection, if it has one.
        setting: The setting for a function that returns the visitor's address.
    """
    global _warned
    try:
        found = ipaddress.ip_address(address or "")
    except ValueError:
        found = None
    if isinstance(found, ipaddress.IPv6Address):
        # As a server that listens on IPv6 names IPv4.
        found = found.ipv4_mapped or found
    if found is not None and found.is_global:
        return str(found)
    with _lock:
        first, _warned = not _warned, True
    if first:
        _log.warning(
            "the service does not learn the visitors' addresses, so its limits for each of them do not "
            "apply: requests come from %s, which is no public address. Set %s to a function that "
            "returns the visitor's address.",
            address or "an unknown address",
            setting,
        )
    return None
