"""The same exchange with the old service's client, which makes a connection for each call:
URL CERTIFICATE THREADS TURNS"""

import os
import sys

from authy.api import AuthyApiClient
from measure import measure

url, certificate, threads, turns = sys.argv[1:]
os.environ["REQUESTS_CA_BUNDLE"] = certificate
client = AuthyApiClient("the-key-of-the-benchmark", url)


def verify() -> None:
    if not client.tokens.verify(12345, "1234567").ok():
        raise SystemExit("the code was not right")


measure(verify, int(turns), int(threads))
