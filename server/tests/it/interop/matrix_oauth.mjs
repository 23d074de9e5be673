// Signs in with OAuth and uses the tokens, with the unmodified matrix-js-sdk. Every third response to
// a refresh is lost. Arguments: server URL, URL of the test's user, user id of Alice, scenario.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, OAuth2, OAuth2HTTPError } from "matrix-js-sdk";

const [baseUrl, userUrl, userId, scenario] = process.argv.slice(2);
const REDIRECT_URI = "https://chat.example/cb";
const REFRESHES = 100;
const SHARED_ROUNDS = 24;
const LONGEST_PAUSE_MS = 2000;

/** The clock of the SDK. In its view, a token expires when the script advances the clock. */
let clockOffset = 0;
const now = Date.now;
Date.now = () => now() + clockOffset;

/** Requests with a refresh token, of which every third one fails after the server has handled it. */
let refreshRequests = 0;
let lostResponses = 0;
const fetch = globalThis.fetch;
globalThis.fetch = async (resource, options) => {
  const response = await fetch(resource, options);
  const isRefresh = options?.body instanceof URLSearchParams && options.body.get("grant_type") === "refresh_token";
  if (isRefresh && ++refreshRequests % 3 === 0) {
    lostResponses++;
    await response.text();
    throw new TypeError("the connection was closed");
  }
  return response;
};

const metadata = await createClient({ baseUrl }).getAuthMetadata();
assert.equal(metadata.issuer, `${baseUrl}/id`);
const clientId = await OAuth2.registerClient(metadata, {
  client_name: "Chat",
  "client_name#fr": "Clavardage",
  client_uri: "https://chat.example/",
  logo_uri: "https://chat.example/logo.png",
  tos_uri: "https://elsewhere.example/terms",
  redirect_uris: [REDIRECT_URI],
  application_type: "web",
});

/** Signs in with a new device, and returns the tokens. */
async function signIn(responseMode) {
  const oauth = new OAuth2(metadata, { clientId });
  const url = await oauth.generateAuthorizationCodeGrantUrl("a state", REDIRECT_URI, responseMode);
  const response = await fetch(userUrl, { method: "POST", body: url });
  const location = new URL(await response.text());
  const text = responseMode === "fragment" ? location.hash.slice(1) : location.search;
  const parameters = new URLSearchParams(text);
  assert.equal(location.href.split(/[?#]/)[0], REDIRECT_URI);
  assert.deepEqual([parameters.get("state"), parameters.get("iss")], ["a state", metadata.issuer]);
  const tokens = await oauth.completeAuthorizationCodeGrant(parameters.get("code"), REDIRECT_URI);
  assert.deepEqual([tokens.token_type, tokens.expires_in], ["Bearer", 300]);
  const scope = `urn:matrix:client:api:* urn:matrix:client:device:${oauth.context.deviceId}`;
  assert.equal(tokens.scope, scope);
  return { oauth, accessToken: tokens.access_token, refreshToken: tokens.refresh_token };
}

/** Creates a client that refreshes its token, and fails when it is signed out. */
function connect({ oauth, accessToken, refreshToken }, onTokenRefresh) {
  const { deviceId } = oauth.context;
  const tokens = { accessToken, refreshToken, onTokenRefresh };
  const client = createClient({ baseUrl, userId, deviceId, oauthClientId: clientId, ...tokens });
  client.on("Session.logged_out", (error) => {
    console.error("signed out", error);
    process.exit(1);
  });
  return client;
}

async function assertWhoami(client, oauth) {
  const { user_id, device_id } = await client.whoami();
  assert.deepEqual([user_id, device_id], [userId, oauth.context.deviceId]);
}

async function assertTokensAreDead({ oauth, accessToken, refreshToken }) {
  const client = createClient({ baseUrl, accessToken });
  await assert.rejects(client.whoami(), { httpStatus: 401, errcode: "M_UNKNOWN_TOKEN" });
  // A request whose response is lost says nothing.
  refreshRequests = 0;
  await assert.rejects(oauth.performRefreshTokenGrant(refreshToken), (error) => {
    assert.ok(error instanceof OAuth2HTTPError, error);
    assert.deepEqual([error.httpStatus, error.error], [400, "invalid_grant"]);
    return true;
  });
}

/** One client refreshes before each request, and once after a token that the server rejects. */
async function refreshManyTimes() {
  for (const responseMode of ["query", "fragment"]) {
    const session = await signIn(responseMode);
    const received = new Set();
    const store = (tokens) => {
      assert.ok(!received.has(tokens.refreshToken));
      received.add(tokens.refreshToken);
      Object.assign(session, tokens);
    };
    const client = connect({ ...session, accessToken: "rejected" }, store);
    const refreshes = responseMode === "query" ? 1 : REFRESHES;
    while (received.size < refreshes) {
      await assertWhoami(client, session.oauth);
      assert.equal(client.getAccessToken(), session.accessToken);
      clockOffset += 300_000;
    }
    // An app that starts again has only what it stored.
    await assertWhoami(connect(session, store), session.oauth);
    await client.logout();
    await assertTokensAreDead(session);
  }
  assert.ok(lostResponses >= REFRESHES / 3);
}

/** Two clients refresh with the token that the last one of them stored, sometimes both at once. */
async function shareRefreshToken() {
  const session = await signIn("fragment");
  const useToken = async () => {
    for (let round = 0; round < SHARED_ROUNDS; round++) {
      await sleep(LONGEST_PAUSE_MS * Math.random() ** 4);
      try {
        const tokens = await session.oauth.performRefreshTokenGrant(session.refreshToken);
        session.accessToken = tokens.access_token;
        session.refreshToken = tokens.refresh_token;
      } catch (error) {
        assert.ok(error instanceof TypeError, error);
        continue;
      }
      await assertWhoami(connect(session, assert.fail), session.oauth);
    }
  };
  await Promise.all([useToken(), useToken()]);
  assert.ok(lostResponses >= SHARED_ROUNDS / 2);
  await session.oauth.revokeToken(session.accessToken, "access_token");
  await assertTokensAreDead(session);
}

await { refreshManyTimes, shareRefreshToken }[scenario]();
process.exit(0);
