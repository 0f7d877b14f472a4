"""The rows that compare the device for django-otp with django-otp's own."""

from __future__ import annotations

from collections.abc import Iterator

from comparison import Comparison, Peer, Programs


def devices(programs: Programs) -> Iterator[Comparison]:
    """Both store in SQLite. Ours has two databases: the site's, and the engine's."""
    for what, kind, peer in (
        ("check a right code of an app", "app", "django-otp's TOTPDevice"),
        ("send a code and check it", "message", "django-otp's EmailDevice"),
    ):
        yield Comparison(
            f"{what}, by the device for django-otp",
            programs.py("otp_seconder", kind, turns=200),
            [Peer(peer, programs.py("otp_plugin", kind, turns=200), {"time": None, "cpu": None})],
        )
