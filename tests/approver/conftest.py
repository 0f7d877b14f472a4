"""What the tests of the approver share: a service, and phones of three kinds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from app import App
from driven import Chromium, WebKit
from firefox import Firefox
from phone import Phone
from push_service import PushService
from service import Service, User

NewApp = Callable[[], App]
PROGRAMS = {
    "chromium": ("chromium", "chromedriver"),
    "firefox": ("firefox-esr",),
    "webkit": ("WebKitWebDriver", "Xvfb"),
}


@pytest.fixture(scope="session")
def push_service() -> Iterator[PushService]:
    push_service = PushService()
    yield push_service
    push_service.close()


@pytest.fixture(scope="session")
def service(
    tmp_path_factory: pytest.TempPathFactory, push_service: PushService
) -> Iterator[Service]:
    service = Service(tmp_path_factory.mktemp("service"), push_service.host)
    yield service
    service.close()


@pytest.fixture
def user(service: Service) -> User:
    return service.add_user()


def require(browser: str) -> None:
    missing = [program for program in PROGRAMS[browser] if not shutil.which(program)]
    if missing:
        names = ", ".join(missing)
        assert os.geteuid() != 0, f"{names} missing: run `make tools-approver`"
        pytest.skip(f"NOT TESTED in {browser}: {names} missing")


@pytest.fixture(scope="session")
def new_firefox(push_service: PushService) -> Iterator[Callable[[Service], Phone]]:
    require("firefox")
    firefox = Firefox(f"ws://{push_service.host}/")
    yield lambda service: firefox.phone()
    firefox.close()


@pytest.fixture(scope="session", params=["chromium", "firefox", "webkit"])
def new_phone(request: pytest.FixtureRequest) -> Callable[[Service], Phone]:
    """Makes phones for a service."""
    if request.param == "firefox":
        new: Callable[[Service], Phone] = request.getfixturevalue("new_firefox")
        return new
    require(request.param)
    if request.param == "webkit":
        return lambda service: WebKit()
    return lambda service: Chromium(service.trusted)


@pytest.fixture
def phones() -> Iterator[list[Phone]]:
    """Phones to close after the test. None may have logged anything."""
    phones: list[Phone] = []
    with ExitStack() as stack:
        yield phones
        for phone in phones:
            stack.callback(phone.close)
        for phone in phones:
            assert phone.complaints() == []


@pytest.fixture
def new_app(
    new_phone: Callable[[Service], Phone], service: Service, phones: list[Phone]
) -> NewApp:
    def new() -> App:
        phones.append(new_phone(service))
        return App(phones[-1], service)

    return new


@pytest.fixture
def app(new_app: NewApp) -> App:
    """The app on a phone on which it has never been."""
    return new_app()


@pytest.fixture
def enrolled(app: App, user: User) -> App:
    """The app of the user."""
    app.enrol(user)
    return app


@pytest.fixture
def chromium(service: Service, phones: list[Phone]) -> Chromium:
    """A phone of which everything can be set."""
    require("chromium")
    phone = Chromium(service.trusted)
    phones.append(phone)
    return phone
