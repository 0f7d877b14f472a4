"""One worker of a web application: ``python -m contrib.worker FRAMEWORK MEMORY FOLDER``.

It prints its port, and appends the approval request of each callback that it accepts to the file
``accepted`` in the folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from contrib import signing

import seconder
from seconder.contrib.replay import SqlReplay

FRAMEWORK, MEMORY, FOLDER = sys.argv[1], sys.argv[2], Path(sys.argv[3])
OPTIONS: dict[str, Any] = {"api_key": signing.KEY, "url": signing.URL}
OPTIONS["replay"] = (
    SqlReplay.sqlite(FOLDER / "replay.db") if MEMORY == "shared" else seconder.callback.Memory()
)


def accepted(event: seconder.results.Event) -> None:
    with open(FOLDER / "accepted", "a") as file:
        file.write(f"{event.uuid}\n")


def flask_worker() -> None:
    from flask import Flask
    from werkzeug.serving import make_server

    from seconder.contrib.flask import callback

    app = Flask("worker")
    app.add_url_rule(
        signing.PATH, "callback", callback(**OPTIONS)(accepted), methods=["GET", "POST"]
    )
    server = make_server("127.0.0.1", 0, app, threaded=True)
    print(server.server_port, flush=True)
    server.serve_forever()


def asgi_worker() -> None:
    import socket

    import uvicorn
    from starlette.applications import Starlette
    from starlette.routing import Route

    from seconder.contrib.asgi import callback

    endpoint = callback(**OPTIONS)(accepted)
    app = Starlette(routes=[Route(signing.PATH, endpoint, methods=["GET", "POST"])])
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])


def django_worker() -> None:
    import django
    from django.conf import settings
    from django.core.management import call_command
    from django.core.wsgi import get_wsgi_application

    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": FOLDER / "django.db"}
    settings.configure(
        ROOT_URLCONF=__name__,
        SECRET_KEY="a secret",
        ALLOWED_HOSTS=["127.0.0.1"],
        DATABASES={"default": database},
        INSTALLED_APPS=[
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "seconder.contrib.django",
        ],
    )
    django.setup()
    from django.urls import path

    from seconder.contrib.django import callback

    call_command("migrate", verbosity=0)
    if MEMORY == "shared":
        del OPTIONS["replay"]
    globals()["urlpatterns"] = [path(signing.PATH[1:], callback(**OPTIONS)(accepted))]

    class SilentHandler(WSGIRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = make_server("127.0.0.1", 0, get_wsgi_application(), handler_class=SilentHandler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    {"flask": flask_worker, "asgi": asgi_worker, "django": django_worker}[FRAMEWORK]()
