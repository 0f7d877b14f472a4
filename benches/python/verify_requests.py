"""The same exchange with requests, with a session for each thread, as its authors advise:
URL CERTIFICATE THREADS TURNS"""

import sys
import threading

import requests
from measure import measure

url, certificate, threads, turns = sys.argv[1:]
local = threading.local()


def session() -> requests.Session:
    if not hasattr(local, "session"):
        local.session = requests.Session()
        local.session.headers["X-Svc-API-Key"] = "the-key-of-the-benchmark"
    return local.session


def verify() -> None:
    # Variables of the environment would override the session's `verify`, but not an argument.
    reply = session().get(
        f"{url}/protected/json/verify/1234567/12345", timeout=10, verify=certificate
    )
    if reply.status_code != 200 or reply.json()["token"] != "is valid":
        raise SystemExit("the code was not right")


measure(verify, int(turns), int(threads))
