"""Relays messages through the unmodified push gateway sygnal to a push service on this machine, and decrypts
them with http_ece. Arguments: server URL, access token of Alice, user id of Alice, token of an application
service, port for sygnal."""

import base64
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import http_ece
import requests
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

APP_ID = "org.example.app"
received = queue.Queue()


class PushService(BaseHTTPRequestHandler):
    """Accepts every message, except those to /gone."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        is_gone = self.path == "/gone"
        if not is_gone:
            received.put(body)
        self.send_response(410 if is_gone else 201)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def poll(subject, is_done):
    """Calls a function until it returns true, for at most a minute."""
    for _ in range(1200):
        if is_done():
            return
        time.sleep(0.05)
    raise TimeoutError(subject)


def is_healthy(gateway):
    try:
        return requests.get(f"{gateway}/health").status_code == 200
    except requests.ConnectionError:
        return False


def start_sygnal(directory, port):
    """Starts sygnal with an app for Web Push."""
    vapid_key = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    key_path, settings_path = (os.path.join(directory, name) for name in ("vapid.pem", "sygnal.yaml"))
    with open(key_path, "wb") as file:
        file.write(vapid_key)
    app = {"type": "webpush", "vapid_private_key": key_path, "vapid_contact_email": "ops@ring.example"}
    settings = {
        "http": {"bind_addresses": ["127.0.0.1"], "port": port},
        "log": {"setup": {"version": 1}, "access": {"x_forwarded_for": False}},
        "apps": {APP_ID: app},
    }
    with open(settings_path, "w") as file:
        yaml.safe_dump(settings, file)
    return subprocess.Popen([sys.executable, "-m", "sygnal.sygnal"], env=os.environ | {"SYGNAL_CONF": settings_path})


def relay(url, token, user_id, service_token, gateway):
    server = ThreadingHTTPServer(("127.0.0.1", 0), PushService)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    poll("sygnal starts", lambda: is_healthy(gateway))
    user, product = ({"Authorization": f"Bearer {secret}"} for secret in (token, service_token))

    def set_pusher(path):
        """Sets a pusher with new keys. Returns its push key, its private key and its auth secret."""
        key, auth = ec.generate_private_key(ec.SECP256R1()), os.urandom(16)
        point = key.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
        pushkey, auth_text = (base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (point, auth))
        data = {"url": f"{gateway}/_matrix/push/v1/notify", "auth": auth_text,
                "endpoint": f"http://127.0.0.1:{server.server_port}{path}"}
        pusher = {"kind": "http", "app_id": APP_ID, "pushkey": pushkey, "lang": "en", "app_display_name": "Web",
                  "device_display_name": "Browser", "data": data}
        response = requests.post(f"{url}/_matrix/client/v3/pushers/set", json=pusher, headers=user)
        assert response.status_code == 200, response.text
        return pushkey, key, auth

    def push_keys():
        return {pusher["pushkey"] for pusher in requests.get(f"{url}/_matrix/client/v3/pushers", headers=user).json()["pushers"]}

    valid_key, key, auth = set_pusher("/valid")
    gone_key, _, _ = set_pusher("/gone")
    assert push_keys() == {valid_key, gone_key}
    event = {"event_id": "$1", "type": "m.room.message", "room_id": "!r:x", "sender": "@bob:x",
             "content": {"msgtype": "m.text", "body": "Cake?"}}
    body = {"event": event, "room": {"member_count": 2, "name": "Kitchen"}, "sender_display_name": "Bob",
            "members": [{"user_id": user_id, "counts": {"unread": 3}}]}
    response = requests.post(f"{url}/_matrix/app/v1/notify", json=body, headers=product)
    assert response.json()["accepted"] == 2, response.text
    text = http_ece.decrypt(received.get(timeout=60), private_key=key, auth_secret=auth, version="aes128gcm")
    assert json.loads(text) == event | {"sender_display_name": "Bob", "room_name": "Kitchen", "unread": 3}, text
    poll("the rejected pusher is removed", lambda: push_keys() == {valid_key})


def main(url, token, user_id, service_token, port):
    with tempfile.TemporaryDirectory() as directory:
        sygnal = start_sygnal(directory, int(port))
        try:
            relay(url, token, user_id, service_token, f"http://127.0.0.1:{port}")
        finally:
            sygnal.kill()


main(*sys.argv[1:])
