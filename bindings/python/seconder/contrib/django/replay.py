"""Replay memories that the processes of a Django site share."""

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

_UNSUITABLE: dict[type[BaseCache], str] = {
    LocMemCache: "each process has its own",
    DummyCache: "it stores nothing",
    FileBasedCache: "it looks up and inserts in two steps",
    DatabaseCache: "it evicts fresh entries when it is full",
}


class TableReplay:
    """A memory in the database of the site. Its unique key decides which process was first, so it
    works for all processes on all machines, and across restarts. If a request is one transaction
    (``ATOMIC_REQUESTS``), a callback whose function raised counts as not received."""

    def __init__(self, using: str = "default") -> None:
        """Does not access the database yet.

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
        # Models cannot be imported before Django has loaded its apps.
        from seconder.contrib.django.models import ReceivedCallback

        rows = ReceivedCallback.objects.using(self._using)
        end = math.ceil(until) if math.isfinite(until) else None
        try:
            # A savepoint: without one, the failed insert would break a surrounding transaction.
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

    It is only as reliable as the cache: after a restart, or after it evicted entries because it was
    full, a callback that is still fresh could be accepted again. :class:`TableReplay` forgets
    nothing. Caches that cannot work at all are rejected.
    """

    def __init__(self, cache: str = "default") -> None:
        """Does not access the cache yet.

        Args:
            cache: The cache, by its name in ``CACHES``.

        Raises:
            ImproperlyConfigured: The cache is of a kind that could accept a callback twice.
        """
        backend: Any = caches[cache]
        for kind, reason in _UNSUITABLE.items():
            if isinstance(backend, kind):
                raise ImproperlyConfigured(
                    f"CacheReplay cannot use {kind.__name__}, as {reason}: use TableReplay"
                )
        self._cache = cache

    def first_time(self, key: str, until: float) -> bool:
        """See :meth:`seconder.callback.Replay.first_time`."""
        life = max(until - time.time(), 0) + SLACK if math.isfinite(until) else None
        added: bool = caches[self._cache].add(f"seconder:{key}", 1, timeout=life)
        return added is True
