"""Receives notifications with unmodified clients: Mastodon.py subscribes and decrypts, http_ece decrypts
the Web Push messages of a Matrix client, and cryptography verifies the VAPID tokens. Arguments: server URL,
access token of Alice, user id of Alice, token of an application service."""

import base64
import json
import queue
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import http_ece
import requests
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from mastodon import Mastodon

received = queue.Queue()


class PushService(BaseHTTPRequestHandler):
    """Accepts every message."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        received.put((self.path, self.headers, body))
        self.send_response(201)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def decode(text):
    """Decodes base64url without padding."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def verify_vapid(authorization, public_key, origin):
    """Checks the signature and the claims of a VAPID token, in the form of either encoding."""
    scheme, value = authorization.split(" ", 1)
    token = value if scheme == "WebPush" else value.split("t=")[1].split(",")[0]
    signed, signature = token.rsplit(".", 1)
    claims = json.loads(decode(signed.split(".")[1]))
    assert claims["aud"] == origin and claims["sub"] == "mailto:ops@ring.example", claims
    assert time.time() < claims["exp"] <= time.time() + 24 * 3600, claims
    raw = decode(signature)
    numbers = [int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")]
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decode(public_key))
    key.verify(encode_dss_signature(*numbers), signed.encode(), ec.ECDSA(hashes.SHA256()))


def receive():
    """Returns the next message."""
    return received.get(timeout=30)


def main(url, token, user_id, service_token):
    server = ThreadingHTTPServer(("127.0.0.1", 0), PushService)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{server.server_port}"
    product = {"Authorization": f"Bearer {service_token}"}

    def post(path, body, headers=product):
        response = requests.post(url + path, json=body, headers=headers)
        assert response.status_code in (200, 201), response.text
        return response.json()

    mastodon = Mastodon(access_token=token, api_base_url=url, version_check_mode="none")
    vapid_key = mastodon.instance_v2()["configuration"]["vapid"]["public_key"]
    private, public = mastodon.push_subscription_generate_keys()
    subscription = mastodon.push_subscription_set(f"{origin}/old", public, mention_events=True, follow_events=False)
    assert subscription["server_key"] == vapid_key and subscription["alerts"]["mention"], subscription
    notification = {"account": user_id, "type": "mention", "id": "42", "title": "Bob", "body": "Cake? 🍰"}
    assert post("/_matrix/app/v1/notifications", notification) == {"accepted": 1}
    path, headers, body = receive()
    assert path == "/old", path
    verify_vapid(headers["authorization"], vapid_key, origin)
    message = mastodon.push_subscription_decrypt_push(body, private, headers["encryption"], headers["crypto-key"])
    assert (message["access_token"], str(message["notification_id"])) == (token, "42"), message
    assert (message["title"], message["body"]) == ("Bob", "Cake? 🍰"), message

    key = ec.derive_private_key(private["privkey"], ec.SECP256R1())
    pushkey = base64.urlsafe_b64encode(public["pubkey"]).decode().rstrip("=")
    auth = base64.urlsafe_b64encode(public["auth"]).decode().rstrip("=")
    user = {"Authorization": f"Bearer {token}"}
    # Mastodon.py has a parameter for the standard encoding, but does not send it.
    keys = {"p256dh": pushkey, "auth": auth}
    subscription = {"endpoint": f"{origin}/standard", "keys": keys, "standard": True}
    post("/api/v1/push/subscription", {"subscription": subscription, "data": {"alerts": {"mention": True}}}, user)
    assert post("/_matrix/app/v1/notifications", notification | {"id": "43"}) == {"accepted": 1}
    path, headers, body = receive()
    assert (path, headers["content-encoding"]) == ("/standard", "aes128gcm"), headers
    verify_vapid(headers["authorization"], vapid_key, origin)
    text = http_ece.decrypt(body, private_key=key, auth_secret=private["auth"], version="aes128gcm")
    assert json.loads(text)["notification_id"] == 43, text
    assert mastodon.push_subscription_update(follow_events=True)["alerts"] == {"follow": True}
    mastodon.push_subscription_delete()

    # A pusher for Web Push, as MSC4174 defines it.
    pusher = {"kind": "org.matrix.msc4174.webpush", "app_id": "web", "pushkey": pushkey, "lang": "en",
              "app_display_name": "Web", "device_display_name": "Browser", "data": {"url": f"{origin}/web", "auth": auth}}
    post("/_matrix/client/v3/pushers/set", pusher, user)
    _, _, body = receive()
    ack = json.loads(http_ece.decrypt(body, private_key=key, auth_secret=private["auth"], version="aes128gcm"))
    post("/_matrix/client/unstable/org.matrix.msc4174/pushers/ack", ack, user)
    (listed,) = requests.get(url + "/_matrix/client/v3/pushers", headers=user).json()["pushers"]
    assert listed["activated"], listed
    event = {"event_id": "$1", "type": "m.room.message", "room_id": "!r:x", "sender": "@bob:x",
             "content": {"msgtype": "m.text", "body": "Cake?"}}
    response = post("/_matrix/app/v1/notify", {"event": event, "room": {"member_count": 2}, "members": [
        {"user_id": user_id, "counts": {"unread": 3}}]})
    assert response["accepted"] == 1, response
    _, headers, body = receive()
    assert headers["urgency"] == "high", headers
    message = json.loads(http_ece.decrypt(body, private_key=key, auth_secret=private["auth"], version="aes128gcm"))
    assert (message["event_id"], message["unread"], message["content"]["body"]) == ("$1", 3, "Cake?"), message


main(*sys.argv[1:])
