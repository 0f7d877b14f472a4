"""A service opened before a fork is rejected in the child, and keeps working in the parent."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import seconder


def test_a_child_must_open_the_service_again(tmp_path: Path) -> None:
    with seconder.open(f"sqlite:{tmp_path / 'fork.db'}") as service:
        service.create_user("ada@example.com", "555-010-0123", 1)
        child = os.fork()
        if child == 0:
            with contextlib.suppress(seconder.StorageError):
                service.app_stats()
                os._exit(3)
            try:
                service.create_user("eve@example.com", "555-010-0199", 1)
            except seconder.StorageError as error:
                os._exit(0 if "after the fork" in str(error) else 2)
            os._exit(1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert service.app_stats().total_users == 1


def test_calls_without_the_database_work_in_a_child(tmp_path: Path) -> None:
    """As docs/web.md recommends for health checks."""

    def results(service: seconder.Service) -> object:
        # The message has the time, to the second.
        phone = service.phone_info("555-010-0123", 1)
        return service.app_details(), phone.type, phone.provider, service.api_key()

    with seconder.open(f"sqlite:{tmp_path / 'fork.db'}") as service:
        before = results(service)
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if results(service) == before else 2)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
