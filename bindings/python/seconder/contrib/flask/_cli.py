"""The commands ``flask seconder``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import click
from flask import current_app
from flask.cli import AppGroup

from seconder.errors import SecondFactorError, StorageError
from seconder.service import Service

_P = ParamSpec("_P")
_T = TypeVar("_T")

commands = AppGroup("seconder", help="Inspects the second factor of the application's users.")


def _reported(command: Callable[_P, _T]) -> Callable[_P, _T]:
    """Prints the service's errors instead of a traceback."""

    @wraps(command)
    def run(*args: _P.args, **options: _P.kwargs) -> _T:
        try:
            return command(*args, **options)
        except SecondFactorError as error:
            raise click.ClickException(str(error)) from error

    return run


def _service() -> Service:
    service: Service = current_app.extensions["seconder"].service
    return service


@commands.command()
@_reported
def check() -> None:
    """Checks that the service can be used with this configuration, and that its views exist."""
    from seconder.contrib.flask._extension import check_views

    check_views(current_app)
    service = _service()
    name = service.app_details().name
    # An engine reads its database only here.
    users = service.admin.app_stats().total_users
    click.echo(f"The service accepts the application {name!r}, which has {users} users.")


@commands.command()
@click.argument("user", type=int)
@_reported
def factors(user: int) -> None:
    """Shows the second factors of USER, an id of the service."""
    status = _service().user_status(user).to_dict()
    for line in _lines({name: status[name] for name in status if name not in ("message", "extra")}):
        click.echo(line)


@commands.command("run-jobs")
@click.option(
    "--budget",
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    help="Begin no attempt after so many seconds.",
)
@click.option(
    "--every",
    type=click.FloatRange(min=0, max=3600, min_open=True),
    help="Do so again after so many seconds, until it is stopped.",
)
@_reported
def run_jobs(budget: float, every: float | None) -> None:
    """Sends messages and posts callbacks that failed before and have to be sent again."""
    while True:
        try:
            run = _service().run_jobs(budget)
        except StorageError as error:
            if every is None:
                raise
            # The database may be back next time.
            click.echo(f"StorageError: {error}", err=True)
        else:
            if run.sent or run.waiting or run.failed or every is None:
                click.echo(
                    f"Sent: {run.sent}, to be sent again: {run.waiting}, failed: {run.failed}"
                )
        if every is None:
            return
        time.sleep(every)


def _lines(fields: dict[str, Any], indent: str = "") -> Iterator[str]:
    """One line for each field that says something."""
    for name, value in fields.items():
        if isinstance(value, dict):
            yield f"{indent}{name}:"
            yield from _lines(value, indent + "  ")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for each in value:
                yield f"{indent}{name}:"
                yield from _lines(each, indent + "  ")
        elif value not in (None, "", []):
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            yield f"{indent}{name}: {shown}"
