"""What the processes of a Django site remember together."""

from __future__ import annotations

import math
import time
from typing import Any

from django.apps import apps
from django.core.cache import caches
from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.db import DatabaseCache
from django.core.cache.backends.dummy import DummyCache
from django.core.cache.backends.filebased import FileBasedCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError, transaction

from seconder.contrib.replay import SLACK, SWEEP

_REFUSED: dict[type[BaseCache], str] = {
    LocMemCache: "each process has its own",
    DummyCache: "it remembers nothing",
    FileBasedCache: "looking and remembering are two steps in it",
    DatabaseCache: "it throws out what is fresh when it is full",
}


class TableReplay:
    """A memory in the database of the site. Its unique key decides who was first, so it holds for
    all processes on all machines, and after a restart. Where a request is one transaction
    (``ATOMIC_REQUESTS``), a callback whose function raised counts as not received."""

    def __init__(self, using: str = "default") -> None:
        """Asks nothing yet.

        Args:
            using: The database, by its name in ``DATABASES``.

        Raises:
            ImproperlyConfigured: The app is not installed.
        """
        if not apps.is_installed("seconder.contrib.django"):
            raise ImproperlyConfigured(
                'TableReplay needs "seconder.contrib.django" in INSTALLED_APPS, and migrate'
            )
        self._using = using
        self._swept = -math.inf

    def first_time(self, key: str, until: float) -> bool:
        """See :meth:`seconder.callback.Replay.first_time`."""
        from seconder.contrib.django.models import ReceivedCallback

        rows = ReceivedCallback.objects.using(self._using)
        end = math.ceil(until) if math.isfinite(until) else None
        try:
            with transaction.atomic(using=self._using):
                rows.create(key=key, until=end)
        except IntegrityError:
            return False
        if time.monotonic() - self._swept >= SWEEP:
            self._swept = time.monotonic()
            rows.filter(until__lt=int(time.time()) - SLACK).delete()
        return True


class CacheReplay:
    """A memory in a cache that all processes share, such as Redis or memcached.

    It holds as long as the cache keeps what it was told: a cache that restarts or that throws out
    entries when it is full has forgotten, and then a callback that is still fresh could be believed
    again. :class:`TableReplay` forgets nothing. Caches that cannot do it at all are refused.
    """

    def __init__(self, cache: str = "default") -> None:
        """Asks nothing yet.

        Args:
            cache: The cache, by its name in ``CACHES``.

        Raises:
            ImproperlyConfigured: The cache is of a kind that could believe a callback twice.
        """
        backend: Any = caches[cache]
        for refused, reason in _REFUSED.items():
            if isinstance(backend, refused):
                raise ImproperlyConfigured(
                    f"CacheReplay cannot use {refused.__name__}, as {reason}: use TableReplay"
                )
        self._cache = cache

    def first_time(self, key: str, until: float) -> bool:
        """See :meth:`seconder.callback.Replay.first_time`."""
        life = max(until - time.time(), 0) + SLACK if math.isfinite(until) else None
        added: bool = caches[self._cache].add(f"seconder:{key}", 1, timeout=life)
        return added is True
