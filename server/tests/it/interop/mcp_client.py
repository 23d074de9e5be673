"""Gets tokens for an MCP server of the script with the unmodified OAuth client of mcp. Arguments: server
URL, URL of the test's user."""

import asyncio
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.shared.auth import OAuthClientMetadata

URL, USER_URL = sys.argv[1:]
CALLBACK = "http://localhost:4711/callback"


class McpServer(BaseHTTPRequestHandler):
    """Serves the metadata of a protected resource, which lists no scopes, and accepts the tokens that
    the server under test accepts."""

    def do_GET(self):
        if self.path.startswith("/.well-known/oauth-protected-resource"):
            self.respond(200, {"resource": f"{self.server.url}/mcp", "authorization_servers": [f"{URL}/id"]})
        elif self.path != "/mcp":
            self.respond(404, {})
        elif self.headers.get("authorization") in self.server.rejected:
            self.respond(401, {})
        else:
            self.respond(200, {"authorization": self.headers.get("authorization")})

    def respond(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class Storage:
    """What an app stores."""

    tokens = client_info = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client_info

    async def set_client_info(self, client_info):
        self.client_info = client_info


class User:
    """Approves the request with the pages of the server."""

    async def open(self, url):
        async with httpx2.AsyncClient() as http:
            self.location = (await http.post(USER_URL, content=url, timeout=60)).text

    async def callback(self):
        assert self.location.startswith(f"{CALLBACK}?"), self.location
        parameters = {name: values[0] for name, values in parse_qs(urlsplit(self.location).query).items()}
        assert "error" not in parameters, parameters
        return AuthorizationCodeResult(**parameters)


async def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), McpServer)
    server.url = f"http://127.0.0.1:{server.server_port}"
    server.rejected = {None}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    storage, user = Storage(), User()
    metadata = OAuthClientMetadata(client_name="Agent", redirect_uris=[CALLBACK])

    def provider():
        return OAuthClientProvider(f"{server.url}/mcp", metadata, storage, user.open, user.callback)

    async def request(auth):
        async with httpx2.AsyncClient(auth=auth) as http:
            response = await http.get(f"{server.url}/mcp", timeout=60)
        assert response.status_code == 200, response.text
        assert response.json()["authorization"] == f"Bearer {storage.tokens.access_token}"

    auth = provider()
    await request(auth)
    assert storage.client_info.token_endpoint_auth_method == "none", storage.client_info
    assert storage.tokens.expires_in == 300 and storage.tokens.refresh_token, storage.tokens
    client_id = storage.client_info.client_id
    user.location = None
    for _ in range(10):
        refresh_token = storage.tokens.refresh_token
        # The client refreshes before it sends an expired token.
        auth.context.token_expiry_time = 1
        await request(auth)
        assert storage.tokens.refresh_token != refresh_token
    assert user.location is None, "the client signed in again"
    # A token that the MCP server rejects is replaced by a new sign-in of the same client.
    server.rejected.add(f"Bearer {storage.tokens.access_token}")
    await request(provider())
    assert user.location is not None
    assert storage.client_info.client_id == client_id


asyncio.run(main())
