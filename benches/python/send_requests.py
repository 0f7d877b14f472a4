"""Sends messages by HTTP with requests, with a session for each thread, as its authors advise, and
writes nothing down: PORT THREADS TURNS"""

import sys
import threading

import requests
from measure import measure

port, threads, turns = sys.argv[1:]
local = threading.local()


def send() -> None:
    if not hasattr(local, "session"):
        local.session = requests.Session()
    message = {"to": "+12025550123", "text": "Your code is 1234567.", "id": "0f3a52cc90e1b7d4"}
    reply = local.session.post(f"http://127.0.0.1:{port}/send", json=message, timeout=10)
    if reply.status_code != 200 or not reply.json()["id"]:
        raise SystemExit("the message was not accepted")


measure(send, int(turns), int(threads))
