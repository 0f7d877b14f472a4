"""Replay memories that processes share accept each callback once; unsuitable ones are rejected."""

from __future__ import annotations

import math
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest
import redis
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.test import override_settings

import seconder
from seconder.callback import Replay
from seconder.contrib.replay import RedisReplay, SqlReplay


@pytest.fixture(params=["sqlite", "redis", "django table", "django cache"])
def memory(
    request: pytest.FixtureRequest, tmp_path: Path, redis_client: redis.Redis, redis_socket: Path
) -> Replay:
    if request.param == "sqlite":
        return SqlReplay.sqlite(tmp_path / "replay.db")
    if request.param == "redis":
        return RedisReplay(redis_client)
    request.getfixturevalue("django_app")
    from seconder.contrib.django import CacheReplay, TableReplay

    if request.param == "django table":
        from seconder.contrib.django.models import ReceivedCallback

        ReceivedCallback.objects.all().delete()
        return TableReplay()
    cache = {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": f"unix://{redis_socket}",
    }
    override = override_settings(CACHES={"default": cache})
    override.enable()
    request.addfinalizer(override.disable)
    return CacheReplay()


def test_each_key_is_new_exactly_once(memory: Replay) -> None:
    until = time.time() + 60.5
    keys = ["a+/=", "b", "B", "x" * 44]
    assert [memory.first_time(key, until) for key in keys] == [True] * 4
    assert [memory.first_time(key, until) for key in keys] == [False] * 4
    assert memory.first_time("for-ever", math.inf) and not memory.first_time("for-ever", math.inf)


def test_a_key_is_new_to_exactly_one_of_many_threads(memory: Replay) -> None:
    for turn in range(5):
        answers: list[bool] = []
        gate = threading.Barrier(6)

        def ask(key: str = f"turn-{turn}", gate: threading.Barrier = gate) -> None:
            gate.wait()
            answers.append(memory.first_time(key, time.time() + 60))
            connections.close_all()

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answers) == [False] * 5 + [True]


def test_a_table_forgets_stale_entries_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, django_app: ModuleType
) -> None:
    from seconder.contrib.django import TableReplay
    from seconder.contrib.django.models import ReceivedCallback

    def rows_of_file() -> list[str]:
        with closing(sqlite3.connect(tmp_path / "replay.db")) as connection:
            return [row[0] for row in connection.execute("SELECT key FROM seconder_callbacks")]

    def rows_of_site() -> list[str]:
        return list(ReceivedCallback.objects.values_list("key", flat=True))

    ReceivedCallback.objects.all().delete()
    memories: list[tuple[Replay, Callable[[], list[str]]]] = [
        (SqlReplay.sqlite(tmp_path / "replay.db"), rows_of_file),
        (TableReplay(), rows_of_site),
    ]
    now, tick = time.time(), time.monotonic()
    for memory, rows in memories:
        monkeypatch.setattr(time, "time", lambda: now)
        monkeypatch.setattr(time, "monotonic", lambda: tick)
        for key, until in [("old", now + 5), ("new", now + 100), ("ever", math.inf)]:
            assert memory.first_time(key, until)
        monkeypatch.setattr(time, "time", lambda: now + 3650)
        assert memory.first_time("early", now + 3690) and "old" in rows()
        monkeypatch.setattr(time, "monotonic", lambda: tick + 61)
        assert memory.first_time("late", now + 3690)
        assert sorted(rows()) == ["early", "ever", "late", "new"]


def test_redis_expires_entries_and_raises_when_it_is_full(redis_client: redis.Redis) -> None:
    memory, until = RedisReplay(redis_client, prefix="p:"), time.time() + 60
    assert memory.first_time("a", until) and memory.first_time("ever", math.inf)
    left = redis_client.ttl("p:a")
    assert isinstance(left, int) and 3655 <= left <= 3660 and redis_client.ttl("p:ever") == -1
    redis_client.config_set("maxmemory-policy", "noeviction")
    redis_client.config_set("maxmemory", 1)
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        memory.first_time("b", until)
    redis_client.config_set("maxmemory", 0)
    assert not memory.first_time("a", until) and memory.first_time("b", until)


def test_a_file_persists_and_a_locked_one_raises(tmp_path: Path) -> None:
    path = tmp_path / "replay.db"
    assert SqlReplay.sqlite(path).first_time("a", math.inf)
    memory = SqlReplay(lambda: sqlite3.connect(path, timeout=0.1), mark="?")
    assert not memory.first_time("a", math.inf)
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError):
            memory.first_time("b", math.inf)
        other.rollback()
    assert memory.first_time("b", math.inf)


def test_paths_and_settings_that_cannot_work_are_rejected(tmp_path: Path) -> None:
    for path in ("", ":memory:"):
        with pytest.raises(seconder.InvalidArgument):
            SqlReplay.sqlite(path)
    (tmp_path / "text").write_text("this is not a database, and it is long enough to be recognised")
    for path in (str(tmp_path / "text"), str(tmp_path / "nowhere" / "replay.db")):
        with pytest.raises(seconder.StorageError):
            SqlReplay.sqlite(path)
    for wrong in ({"table": "a; DROP TABLE users"}, {"table": ""}, {"mark": ":1"}):
        with pytest.raises(seconder.InvalidArgument):
            SqlReplay(lambda: sqlite3.connect(tmp_path / "x.db"), **wrong)


def test_caches_that_could_accept_a_callback_twice_are_rejected(
    django_app: ModuleType, tmp_path: Path
) -> None:
    from seconder.contrib.django import CacheReplay

    kinds = ["locmem.LocMemCache", "dummy.DummyCache", "filebased.FileBasedCache"]
    for kind in [*kinds, "db.DatabaseCache"]:
        cache = {"BACKEND": f"django.core.cache.backends.{kind}", "LOCATION": str(tmp_path / "c")}
        with override_settings(CACHES={"default": cache}):
            with pytest.raises(ImproperlyConfigured, match="use TableReplay"):
                CacheReplay()


def test_the_table_needs_its_app(django_app: ModuleType) -> None:
    from seconder.contrib.django import TableReplay

    with override_settings(INSTALLED_APPS=[]):
        with pytest.raises(ImproperlyConfigured, match="INSTALLED_APPS"):
            TableReplay()


def test_the_migrations_match_the_model(django_app: ModuleType) -> None:
    django_app.call_command("makemigrations", "seconder", check=True, dry_run=True, verbosity=0)
