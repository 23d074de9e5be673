"""Generates a client with openapi-python-client and calls the server with it. Arguments: server URL, token of a user,
directory for the client."""

import subprocess
import sys
from pathlib import Path

url, token, directory = sys.argv[1:]
# The default hooks format the client with ruff.
config = Path(directory, "config.yaml")
config.write_text("post_hooks: []\n")
command = ["generate", "--url", f"{url}/openapi.json", "--config", config, "--output-path", f"{directory}/client"]
programs = Path(sys.executable).parent
generator = subprocess.run([programs / "openapi-python-client", *command], capture_output=True, text=True)
output = generator.stdout + generator.stderr
assert generator.returncode == 0 and "arning" not in output, output

sys.path.insert(0, f"{directory}/client")
from belfry_client import AuthenticatedClient, Client
from belfry_client.api.mastodon_api import register_app
from belfry_client.api.o_auth import introspect_token
from belfry_client.api.push_rules import get_rule, put_rule
from belfry_client.models import ActionType0, AppRegistration, ClientTokenRequest, NewRule

registration = AppRegistration(client_name="Generated", redirect_uris="https://app.example/cb")
app = register_app.sync(client=Client(url), body=registration)
assert app.name == "Generated" and app.client_secret, app

request = ClientTokenRequest(token=token, client_id=app.client_id, client_secret=app.client_secret)
assert not introspect_token.sync(client=Client(url), body=request).active, "the token of another app"

client = AuthenticatedClient(url, token)
rule = NewRule(actions=[ActionType0.NOTIFY], pattern="cake")
put_rule.sync("global", "content", "cake", client=client, body=rule)
stored = get_rule.sync("global", "content", "cake", client=client)
assert stored.pattern == "cake" and stored.enabled and stored.actions == ["notify"], stored
