// Gets tokens for an MCP server of the script with the unmodified client of the Model Context Protocol.
// Arguments: server URL, URL of the test's user.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { auth } from "@modelcontextprotocol/client";

const [baseUrl, userUrl] = process.argv.slice(2);
const CALLBACK = "http://127.0.0.1:4711/callback";
const clientMetadata = {
  client_name: "Agent",
  redirect_uris: [CALLBACK],
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  token_endpoint_auth_method: "none",
};

/** Serves the metadata of an MCP server, whose tokens come from the server under test. */
const server = createServer((_request, response) => {
  const metadata = { resource: serverUrl, authorization_servers: [`${baseUrl}/id`] };
  response.setHeader("content-type", "application/json").end(JSON.stringify(metadata));
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const serverUrl = `http://127.0.0.1:${server.address().port}/mcp`;

/** Stores what the client saves, and opens the pages for the user. */
class Provider {
  redirectUrl = CALLBACK;
  clientMetadata = clientMetadata;
  saved = {};
  state = () => "a state";
  clientInformation = () => this.saved.client;
  saveClientInformation = (client) => void (this.saved.client = client);
  tokens = () => this.saved.tokens;
  saveTokens = (tokens) => void (this.saved.tokens = tokens);
  codeVerifier = () => this.saved.verifier;
  saveCodeVerifier = (verifier) => void (this.saved.verifier = verifier);
  discoveryState = () => this.saved.discovery;
  saveDiscoveryState = (discovery) => void (this.saved.discovery = discovery);
  invalidateCredentials = (scope) => assert.fail(scope);

  async redirectToAuthorization(url) {
    const response = await fetch(userUrl, { method: "POST", body: url.href });
    this.location = new URL(await response.text());
  }
}

const provider = new Provider();
assert.equal(await auth(provider, { serverUrl }), "REDIRECT");
assert.equal(provider.saved.client.token_endpoint_auth_method, "none");
assert.ok(provider.location.href.startsWith(`${CALLBACK}?`), provider.location.href);
const parameters = provider.location.searchParams;
assert.deepEqual([parameters.get("state"), parameters.get("error")], ["a state", null]);
const options = { serverUrl, authorizationCode: parameters.get("code"), iss: parameters.get("iss") };
assert.equal(await auth(provider, options), "AUTHORIZED");
const first = provider.saved.tokens;
assert.deepEqual([first.token_type, first.expires_in], ["Bearer", 300]);

// With a refresh token, the client refreshes.
for (let refresh = 0; refresh < 10; refresh++) {
  const { access_token, refresh_token } = provider.saved.tokens;
  assert.equal(await auth(provider, { serverUrl }), "AUTHORIZED");
  assert.notEqual(provider.saved.tokens.access_token, access_token);
  assert.notEqual(provider.saved.tokens.refresh_token, refresh_token);
}
server.close();
