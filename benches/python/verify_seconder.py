"""Verifies a code over kept-alive connections, with seconder: URL CERTIFICATE THREADS TURNS"""

import sys

import seconder
from measure import measure

url, certificate, threads, turns = sys.argv[1:]
service = seconder.open(
    url, api_key="the-key-of-the-benchmark", client=seconder.ClientOptions(ca_file=certificate)
)
measure(lambda: service.verify(12345, "1234567"), int(turns), int(threads))
