"""Fixtures that the tests of the PAM module share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from machine import PRIVATE, Machine
from service import Service


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "private: needs root in a mount namespace of its own")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip = pytest.mark.skip(reason="only root in a mount namespace of its own can do this")
    for item in items:
        if item.get_closest_marker("private") and not PRIVATE:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("machine"))
    yield machine
    machine.close()


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("service")
    folder.chmod(0o755)
    service = Service(folder)
    yield service
    service.stop()


@pytest.fixture
def service(running: Service, machine: Machine) -> Service:
    """The service, with the module configured to ask it, and nothing in syslog."""
    machine.configure(**running.keys)
    machine.logged()
    return running


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that accepts every code, as often as it is typed."""
    folder: Path = tmp_path_factory.mktemp("sandbox")
    folder.chmod(0o755)
    service = Service(folder, "sandbox:")
    yield service
    service.stop()
