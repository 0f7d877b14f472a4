"""The same exchange with a urllib3 pool that the threads share: URL CERTIFICATE THREADS TURNS"""

import sys

import urllib3
from measure import measure

url, certificate, threads, turns = sys.argv[1:]
pool = urllib3.PoolManager(
    ca_certs=certificate,
    maxsize=int(threads),
    timeout=10,
    headers={"X-Svc-API-Key": "the-key-of-the-benchmark"},
)


def verify() -> None:
    reply = pool.request("GET", f"{url}/protected/json/verify/1234567/12345")
    if reply.status != 200 or reply.json()["token"] != "is valid":
        raise SystemExit("the code was not right")


measure(verify, int(turns), int(threads))
