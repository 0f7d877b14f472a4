"""Sends messages by SMPP with smpplib, with a session for each thread, because a session waits for each
response, and writes nothing down: PORT THREADS TURNS"""

import logging
import sys
import threading

from measure import measure
from smpplib.client import Client
from smpplib.consts import SMPP_NPI_ISDN, SMPP_TON_INTL
from smpplib.gsm import make_parts

logging.disable(logging.CRITICAL)
port, threads, turns = sys.argv[1:]
local = threading.local()


def send() -> None:
    if not hasattr(local, "client"):
        local.client = Client("127.0.0.1", int(port), allow_unknown_opt_params=True)
        local.client.connect()
        local.client.bind_transceiver(system_id="bench", password="")
    parts, coding, kind = make_parts("Your code is 1234567.")
    local.client.send_message(
        source_addr="Example",
        dest_addr_ton=SMPP_TON_INTL,
        dest_addr_npi=SMPP_NPI_ISDN,
        destination_addr="12025550123",
        short_message=parts[0],
        data_coding=coding,
        esm_class=kind,
    )
    response = local.client.read_pdu()
    if response.command != "submit_sm_resp" or response.is_error():
        raise SystemExit("the message was not accepted")


measure(send, int(turns), int(threads))
