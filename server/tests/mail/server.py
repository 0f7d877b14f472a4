"""The mail server of the tests, on aiosmtpd: server.py '{"user": "ada", "password": "secret"}'

It prints `listening PORT`, and then each event as a line of JSON. A line of JSON on its standard input
changes what it does:

user, password   who may log in; without them, nobody has to
key, certificate files in PEM: TLS, from the beginning with `wrapper`, otherwise by STARTTLS
greeting, mail, rcpt, data
                 what it responds in place of success, such as "451 4.7.1 Try again later"
drop             "mail" or "data": how many of these steps end the connection, as {"data": 1}
silent           whether the content gets no response
"""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import sys
import warnings
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult

settings: dict[str, Any] = {"drop": {}, **json.loads(sys.argv[1])}


def record(event: str, **details: Any) -> None:
    print(json.dumps({"event": event, **details}), flush=True)


def drops(server: SMTP, step: str) -> bool:
    if settings["drop"].get(step, 0) <= 0:
        return False
    settings["drop"][step] -= 1
    server.transport.abort()
    return True


class Handler:
    async def handle_MAIL(self, server, session, mail, address, options):
        if drops(server, "mail"):
            return "421 gone"
        if settings.get("mail"):
            return settings["mail"]
        mail.mail_from = address
        return "250 OK"

    async def handle_RCPT(self, server, session, mail, address, options):
        if settings.get("rcpt"):
            return settings["rcpt"].replace("{to}", address)
        mail.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, mail):
        dropped = settings["drop"].get("data", 0) > 0
        record(
            "message",
            mail_from=mail.mail_from,
            rcpt_tos=mail.rcpt_tos,
            content=mail.content.decode("ascii"),
            tls=session.ssl is not None or bool(settings.get("wrapper")),
            user=session.auth_data,
            hello=session.host_name,
            dropped=dropped,
        )
        if drops(server, "data"):
            return "421 gone"
        if settings.get("silent"):
            await asyncio.sleep(3600)
        return settings.get("data") or "250 2.0.0 Ok: queued as 4Q2w3r4t5y"


class Server(SMTP):
    def connection_made(self, transport):
        if not isinstance(transport, asyncio.sslproto._SSLProtocolTransport):
            record("connected")
        super().connection_made(transport)

    async def push(self, status):
        # The greeting is the only response without a command before it.
        text = status if isinstance(status, str) else status.decode("ascii")
        if settings.get("greeting") and text.startswith("220 ") and "SMTP" in text:
            text = settings["greeting"]
        await super().push(text)

    async def smtp_QUIT(self, arg):
        record("quit")
        await super().smtp_QUIT(arg)


def authenticate(server, session, mail, mechanism, data):
    right = (data.login.decode(), data.password.decode()) == (
        settings["user"],
        settings["password"],
    )
    record("login", mechanism=mechanism, right=right)
    return AuthResult(success=right, handled=right, auth_data=data.login.decode())


def serve() -> SMTP:
    context = None
    if settings.get("key"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(settings["certificate"], settings["key"])
    login = {}
    if settings.get("user"):
        login = {
            "authenticator": authenticate,
            "auth_required": True,
            "auth_exclude_mechanism": settings.get("without", []),
            "auth_require_tls": not settings.get("wrapper"),
        }
    start_tls = None if settings.get("wrapper") else context
    return Server(
        Handler(), hostname="mail.test", tls_context=start_tls, require_starttls=bool(start_tls), **login
    )


async def change() -> None:
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        settings.update(json.loads(line))
        record("changed")


async def main() -> None:
    logging.disable()
    # That a login without STARTTLS is not safe, which it is within TLS.
    warnings.simplefilter("ignore")
    context = None
    if settings.get("wrapper"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(settings["certificate"], settings["key"])
    loop = asyncio.get_running_loop()
    server = await loop.create_server(serve, "127.0.0.1", 0, ssl=context)
    print(f"listening {server.sockets[0].getsockname()[1]}", flush=True)
    # When the test ends, so does its server.
    await change()


if __name__ == "__main__":
    asyncio.run(main())
