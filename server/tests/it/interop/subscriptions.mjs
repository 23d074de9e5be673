// Manages push subscriptions with unmodified clients: masto and megalodon.
// Arguments: server URL, access token of Alice.

import assert from "node:assert/strict";
import { createECDH, randomBytes } from "node:crypto";
import { createRestAPIClient } from "masto";
import megalodon from "megalodon";

const [url, token] = process.argv.slice(2);
const endpoint = "https://push.example/send/AbC";
const keys = {
  p256dh: createECDH("prime256v1").generateKeys("base64url"),
  auth: randomBytes(16).toString("base64url"),
};

const masto = createRestAPIClient({ url, accessToken: token });
const vapidKey = (await masto.v2.instance.fetch()).configuration.vapid.publicKey;
const subscriptions = masto.v1.push.subscription;
const data = { alerts: { mention: true, follow: false } };
const created = await subscriptions.create({ subscription: { endpoint, keys }, data, policy: "followed" });
const expected = { id: created.id, endpoint, ...data, policy: "followed", standard: false, serverKey: vapidKey };
assert.equal(typeof created.id, "number");
assert.deepEqual(created, expected);
assert.deepEqual(await subscriptions.fetch(), expected);
const changed = await subscriptions.update({ data: { alerts: { poll: true } }, policy: "none" });
assert.deepEqual(changed, { ...expected, alerts: { poll: true }, policy: "none" });
await subscriptions.remove();
await assert.rejects(subscriptions.fetch(), { name: "MastoHttpError", statusCode: 404 });

const client = megalodon.default("mastodon", url, token);
const subscribed = (await client.subscribePushNotification({ endpoint, keys }, data)).data;
assert.deepEqual([subscribed.endpoint, subscribed.server_key, subscribed.alerts], [endpoint, vapidKey, data.alerts]);
assert.deepEqual((await client.getPushSubscription()).data, subscribed);
const updated = (await client.updatePushSubscription({ alerts: { reblog: true } })).data;
assert.deepEqual(updated, { ...subscribed, alerts: { reblog: true } });
assert.deepEqual((await client.deletePushSubscription()).data, {});
await assert.rejects(client.getPushSubscription(), (error) => error.response.status === 404);
