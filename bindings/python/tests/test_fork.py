"""A service opened before a fork is rejected in the child until it is reopened there, and keeps
working in the parent."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import traceback
from pathlib import Path

import pytest

import seconder
from conftest import in_child


def enrol(service: seconder.Service, number: int) -> None:
    service.create_user("eve@example.com", f"555-010-{number:04}", 1)


def test_a_child_must_open_the_service_again(tmp_path: Path) -> None:
    with seconder.open(f"sqlite:{tmp_path / 'fork.db'}") as service:
        enrol(service, 1)

        def work() -> None:
            for call in (service.admin.app_stats, lambda: enrol(service, 2)):
                with pytest.raises(seconder.StorageError, match="after the fork"):
                    call()

        in_child(work)
        assert service.admin.app_stats().total_users == 1


def test_calls_without_the_database_work_in_a_child(tmp_path: Path) -> None:
    """As docs/web.md recommends for health checks."""

    def results(service: seconder.Service) -> object:
        # The message has the time, to the second.
        phone = service.phone_info("555-010-0123", 1)
        return service.app_details(), phone.type, phone.provider, service.admin.api_key()

    with seconder.open(f"sqlite:{tmp_path / 'fork.db'}") as service:
        before = results(service)

        def work() -> None:
            assert results(service) == before

        in_child(work)


def test_a_child_opens_another_database(tmp_path: Path) -> None:
    def work() -> None:
        with seconder.open(f"sqlite:{tmp_path / 'other.db'}") as other:
            enrol(other, 1)
            assert other.admin.app_stats().total_users == 1
        with seconder.open("sandbox:") as sandbox:
            enrol(sandbox, 1)

    with seconder.open(f"sqlite:{tmp_path / 'fork.db'}") as service, seconder.open("sandbox:"):
        enrol(service, 1)
        in_child(work)
        enrol(service, 2)
        assert service.admin.app_stats().total_users == 2


def test_a_child_reopens_the_service(tmp_path: Path) -> None:
    """Both write to one database, and a child of the child does too."""
    with seconder.open(
        f"sqlite:{tmp_path / 'fork.db'}", engine=seconder.EngineOptions(application_name="Fork")
    ) as service:
        view = service.with_timeout(5)
        enrol(service, 1)

        def work(number: int) -> None:
            service.reopen()
            enrol(service, number)
            assert view.admin.app_stats().total_users == number
            assert service.app_details().name == "Fork"
            if number < 4:
                in_child(lambda: work(number + 1))
                enrol(service, number)

        in_child(lambda: work(2))
        assert service.admin.app_stats().total_users == 4
        enrol(service, 9)
        assert service.admin.app_stats().total_users == 5


@pytest.mark.parametrize("first", ["parent", "child"])
def test_nothing_is_lost_whoever_closes_first(tmp_path: Path, first: str) -> None:
    url = f"sqlite:{tmp_path / 'fork.db'}"
    to_child, from_parent = os.pipe()
    to_parent, from_child = os.pipe()
    service = seconder.open(url)
    enrol(service, 1)
    child = os.fork()
    if child == 0:
        try:
            service.reopen()
            enrol(service, 2)
            os.write(from_child, b"w")
            if first == "parent":
                os.read(to_child, 1)
                enrol(service, 3)
            service.close()
            os.write(from_child, b"c")
            os._exit(0)
        finally:
            traceback.print_exc()
            os._exit(1)
    assert os.read(to_parent, 1) == b"w"
    if first == "parent":
        service.close()
        os.write(from_parent, b"g")
        assert os.read(to_parent, 1) == b"c"
    else:
        assert os.read(to_parent, 1) == b"c"
        enrol(service, 3)
        service.close()
    _, status = os.waitpid(child, 0)
    for descriptor in (to_child, from_parent, to_parent, from_child):
        os.close(descriptor)
    assert os.waitstatus_to_exitcode(status) == 0
    with seconder.open(url) as again:
        assert again.admin.app_stats().total_users == 3
    # The last one to close it has put the log into the database.
    left = {each.name for each in tmp_path.iterdir()}
    assert left == {"fork.db", "fork.db-mark", "fork.db.keys"}


def test_a_child_that_only_drops_its_copy_leaves_the_log(tmp_path: Path) -> None:
    service = seconder.open(f"sqlite:{tmp_path / 'fork.db'}")
    enrol(service, 1)
    in_child(service.close)
    assert (tmp_path / "fork.db-wal").stat().st_size > 0
    enrol(service, 2)
    service.close()
    with seconder.open(f"sqlite:{tmp_path / 'fork.db'}") as again:
        assert again.admin.app_stats().total_users == 2


def test_children_of_a_process_whose_threads_use_the_database(tmp_path: Path) -> None:
    """Python's fork waits until no thread is in SQLite, so each child can open the database."""
    with seconder.open(f"sqlite:{tmp_path / 'fork.db'}") as service:
        enrol(service, 1)
        stop = threading.Event()

        def use() -> None:
            while not stop.is_set():
                service.admin.app_stats()

        def reopen() -> None:
            service.reopen()
            service.admin.app_stats()

        threads = [threading.Thread(target=use) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(10):
                in_child(reopen)
        finally:
            stop.set()
            for thread in threads:
                thread.join()


FORKS_ITSELF = """
import logging, os, sys, threading, time
# The library does not see the forks then, as those of a program in C.
os.register_at_fork = lambda **_: None
import seconder
service = seconder.open(sys.argv[1], deliver=lambda message: None)
stop = False
def use():
    while not stop:
        service.admin.app_stats()
threads = [threading.Thread(target=use) for _ in range(4)]
for thread in threads:
    thread.start()
outcomes = set()
# Where the disk is busy, each child takes a while to open the database.
until = time.monotonic() + 20
while time.monotonic() < until:
    child = os.fork()
    if child == 0:
        try:
            service.reopen()
            service.admin.app_stats()
            os._exit(0)
        except seconder.StorageError as error:
            os._exit(1 if "while a thread of its parent used" in str(error) else 2)
        finally:
            os._exit(3)
    outcomes.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    if outcomes == {0, 1}:
        break
stop = True
for thread in threads:
    thread.join()
print(sorted(outcomes))
"""


def test_a_fork_that_the_library_does_not_see_never_hangs(tmp_path: Path) -> None:
    """A child of a busy process works, or is rejected."""
    command = [sys.executable, "-c", FORKS_ITSELF, f"sqlite:{tmp_path / 'fork.db'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() in ("[0]", "[1]", "[0, 1]"), done.stderr


FORKS_WHILE_LOGGING = """
import logging, os, sys, threading
os.register_at_fork = lambda **_: None
import seconder
service = seconder.open(sys.argv[1], deliver=lambda message: None)
get_logger, is_logging, has_forked = logging.getLogger, threading.Event(), threading.Event()
def slow(name):
    if threading.current_thread() is not threading.main_thread():
        is_logging.set()
        has_forked.wait()
    return get_logger(name)
logging.getLogger = slow
thread = threading.Thread(target=service.admin.app_stats)
thread.start()
is_logging.wait()
child = os.fork()
if child == 0:
    service.reopen()
    service.admin.app_stats()
    os._exit(0)
has_forked.set()
thread.join()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_child_forked_while_the_first_call_is_logged_makes_calls(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FORKS_WHILE_LOGGING, f"sqlite:{tmp_path / 'fork.db'}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "0", done.stderr


def test_a_service_in_use_can_be_reopened(tmp_path: Path) -> None:
    with seconder.open(f"sqlite:{tmp_path / 'fork.db'}") as service:
        enrol(service, 1)
        service.reopen()
        assert service.admin.app_stats().total_users == 1
    service.reopen()
    assert service.admin.app_stats().total_users == 1
    service.close()
