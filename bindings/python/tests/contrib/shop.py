"""An application in FastAPI with a second factor, for tests."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

import fastapi
from fastapi.testclient import TestClient

import seconder
from seconder.contrib.fastapi import SecondFactor, lifespan, service


@dataclass
class Login:
    name: str
    user_id: int
    key: str


@dataclass
class Shop:
    """An application: its logins that wait, and its sessions, by their cookies."""

    pending: dict[str, Login] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
    events: list[seconder.results.Event] = field(default_factory=list)

    def hold(self, client: TestClient, name: str, user_id: int) -> str:
        """Returns the value of the cookie."""
        key = secrets.token_hex()
        self.pending[key] = Login(name, user_id, key)
        client.cookies.set("login", key)
        return key

    async def login(self, request: fastapi.Request) -> Login | None:
        return self.pending.get(request.cookies.get("login", ""))

    def done(self, login: Login, request: fastapi.Request, response: fastapi.Response) -> None:
        del self.pending[request.cookies["login"]]
        key = secrets.token_hex()
        self.sessions[key] = login.name
        response.set_cookie("session", key)

    def app(self, **options: Any) -> fastapi.FastAPI:
        settings = {"URL": "sandbox:", **options.pop("settings", {})}
        app = fastapi.FastAPI(lifespan=lifespan(settings))
        factor = SecondFactor[Login](self.login)
        options = {
            "approval": "Log in?",
            "used": seconder.callback.Memory(),
            "secret": "a secret of the tests",
            "login_id": lambda login: login.key,
            **options,
        }
        app.include_router(factor.router(options.pop("done", self.done), **options))

        @app.get("/me")
        def me(request: fastapi.Request) -> str:
            name = self.sessions.get(request.cookies.get("session", ""))
            if name is None:
                raise fastapi.HTTPException(401)
            return name

        @app.post("/own")
        async def own(login: Login = fastapi.Depends(factor.verified)) -> str:
            return login.name

        return app


def serving(
    app: fastapi.FastAPI, opened: seconder.Service, *, raising: bool = False
) -> TestClient:
    """A client of the application, with this service."""
    wrapped = seconder.AsyncService(opened)
    app.dependency_overrides[service] = lambda: wrapped
    return TestClient(app, raise_server_exceptions=raising)


def reason(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["detail"]["reason"]
