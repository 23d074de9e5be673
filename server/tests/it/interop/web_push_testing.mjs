// Receives notifications with the push service of web-push-testing, which verifies the VAPID tokens and
// decrypts the messages. Arguments: server URL, access token of Alice, user id of Alice, token of an
// application service, port for the push service.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { setTimeout } from "node:timers/promises";
import { createRestAPIClient } from "masto";

const [url, token, userId, serviceToken, port] = process.argv.slice(2);
// Not localhost, which can also be the address ::1.
const pushService = `http://127.0.0.1:${port}`;

/** Calls a function until it returns a value, for at most a minute. */
async function poll(subject, read) {
  for (let attempt = 0; attempt < 1200; attempt += 1) {
    const value = await read();
    if (value !== undefined) {
      return value;
    }
    await setTimeout(50);
  }
  throw new Error(`timeout: ${subject}`);
}

async function post(address, body, headers = {}) {
  headers = { "content-type": "application/json", ...headers };
  const response = await fetch(address, { method: "POST", headers, body: JSON.stringify(body) });
  assert.equal(response.status, 200, await response.clone().text());
  return response;
}

async function sendMention(id) {
  const body = { account: userId, type: "mention", id, title: "Bob", body: "Cake? 🍰" };
  const headers = { authorization: `Bearer ${serviceToken}` };
  const response = await post(`${url}/_matrix/app/v1/notifications`, body, headers);
  assert.deepEqual(await response.json(), { accepted: 1 });
}

async function receiveInBothEncodings() {
  await poll("start", () => post(`${pushService}/status`, {}).then(() => true, () => undefined));
  const masto = createRestAPIClient({ url, accessToken: token });
  const subscriptions = masto.v1.push.subscription;
  const vapidKey = (await masto.v2.instance.fetch()).configuration.vapid.publicKey;
  for (const [id, standard] of [["42", false], ["43", true]]) {
    const options = { userVisibleOnly: "true", applicationServerKey: vapidKey };
    const { keys, endpoint, clientHash } = (await (await post(`${pushService}/subscribe`, options)).json()).data;
    const subscription = { endpoint: endpoint.replace("localhost", "127.0.0.1"), keys, standard };
    const data = { alerts: { mention: true } };
    assert.equal((await subscriptions.create({ subscription, data, policy: "all" })).standard, standard);
    await sendMention(id);
    const message = await poll("message", async () => {
      const response = await post(`${pushService}/get-notifications`, { clientHash });
      return (await response.json()).data.messages[0];
    });
    const { access_token, notification_id, notification_type, title, body } = JSON.parse(message);
    assert.deepEqual([access_token, notification_id, notification_type], [token, Number(id), "mention"]);
    assert.deepEqual([title, body], ["Bob", "Cake? 🍰"]);

    // The push service answers 410 from now on.
    await post(`${pushService}/expire-subscription/${clientHash}`, {});
    await sendMention(`${id}0`);
    await poll("removal", () => subscriptions.fetch().then(() => undefined, (error) => {
      assert.equal(error.statusCode, 404);
      return true;
    }));
  }
}

const service = spawn("node", ["node_modules/web-push-testing/src/bin/server.js", port], { stdio: "inherit" });
try {
  await receiveInBothEncodings();
} finally {
  service.kill();
}
