"""Sends Web Push messages with pywebpush, and prints their number per second of CPU time."""

import sys
import time

import requests
from py_vapid import Vapid
from pywebpush import webpush

origin, count, p256dh, auth, message = sys.argv[1:]
vapid_key = Vapid()
vapid_key.generate_keys()
session = requests.Session()
start = time.process_time()
for number in range(int(count)):
    subscription = {
        "endpoint": f"{origin}/push/{number}",
        "keys": {"p256dh": p256dh, "auth": auth},
    }
    webpush(
        subscription,
        message,
        vapid_private_key=vapid_key,
        vapid_claims={"sub": "mailto:ops@ring.example"},
        ttl=86400,
        requests_session=session,
    )
print(int(count) / (time.process_time() - start))
