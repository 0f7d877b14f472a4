"""A service that was opened before a fork is refused in the child, and goes on in the parent."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import seconder


def test_a_child_opens_its_own(tmp_path: Path) -> None:
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


def test_what_needs_no_database_answers_in_a_child(tmp_path: Path) -> None:
    """As docs/web.md says of health checks."""

    def answers(service: seconder.Service) -> object:
        return service.app_details(), service.phone_info("555-010-0123", 1), service.api_key()

    with seconder.open(f"sqlite:{tmp_path / 'fork.db'}") as service:
        told = answers(service)
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if answers(service) == told else 2)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
