"""Generates a client with openapi-generator and calls the server with it. Arguments: server URL, token of a user,
directory for the client."""

import subprocess
import sys
from pathlib import Path

url, token, directory = sys.argv[1:]
program = Path(sys.executable).parent / "openapi-generator-cli"
command = [program, "generate", "-g", "python", "-i", f"{url}/openapi.json", "-o", directory]
generator = subprocess.run(command, capture_output=True, text=True)
assert generator.returncode == 0, generator.stdout + generator.stderr

sys.path.insert(0, directory)
import openapi_client as belfry

client = belfry.ApiClient(belfry.Configuration(host=url, access_token=token))
registration = belfry.AppRegistration(
    client_name="Generated", redirect_uris=belfry.AppRegistrationRedirectUris("https://app.example/cb")
)
app = belfry.MastodonAPIApi(client).register_app(registration)
assert app.name == "Generated" and app.client_secret, app

rules = belfry.PushRulesApi(client)
rule = belfry.NewRule(actions=[belfry.Action("notify")], pattern="cake")
rules.put_rule("global", "content", "cake", rule)
stored = rules.get_rule("global", "content", "cake")
assert stored.pattern == "cake" and stored.enabled, stored
