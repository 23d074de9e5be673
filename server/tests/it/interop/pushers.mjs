// Manages pushers with the unmodified matrix-js-sdk.
// Arguments: server URL, access token of Alice, user id of Alice.

import assert from "node:assert/strict";
import { createECDH, randomBytes } from "node:crypto";
import { createClient } from "matrix-js-sdk";

const [baseUrl, accessToken, userId] = process.argv.slice(2);
const client = createClient({ baseUrl, accessToken, userId });
assert.equal((await client.whoami()).user_id, userId);

const names = { app_display_name: "Example", device_display_name: "Phone", lang: "en" };
const url = "https://push.example/_matrix/push/v1/notify";
const phone = {
  kind: "http", app_id: "org.example.phone", pushkey: "key", profile_tag: "phone", ...names,
  data: { url, format: "event_id_only", brand: "Example" },
};
const enabled = "org.matrix.msc3881.enabled";
assert.deepEqual(await client.setPusher(phone), {});
assert.deepEqual(await client.getPushers(), { pushers: [{ ...phone, [enabled]: true }] });
const disabledPhone = { ...phone, device_display_name: "Old phone", [enabled]: false };
await client.setPusher({ ...disabledPhone, append: true });
assert.deepEqual(await client.getPushers(), { pushers: [disabledPhone] });

// The SDK has no types for MSC4174, but admits other kinds of pushers.
assert.ok(await client.doesServerSupportUnstableFeature("org.matrix.msc4174"));
assert.ok((await client.getCapabilities())["org.matrix.msc4174.webpush"].enabled);
const browser = {
  kind: "org.matrix.msc4174.webpush", app_id: "org.example.web", ...names,
  pushkey: createECDH("prime256v1").generateKeys("base64url"),
  data: { url: "https://push.example/send/AbC", auth: randomBytes(16).toString("base64url") },
};
assert.deepEqual(await client.setPusher(browser), {});
const listed = (await client.getPushers()).pushers.find((pusher) => pusher.app_id === browser.app_id);
assert.deepEqual([listed.kind, listed.pushkey, listed.activated], [browser.kind, browser.pushkey, false]);

await assert.rejects(client.setPusher({ ...phone, kind: "email" }), { httpStatus: 400, errcode: "M_INVALID_PARAM" });
for (const pusher of [phone, browser]) {
  assert.deepEqual(await client.removePusher(pusher.pushkey, pusher.app_id), {});
}
assert.deepEqual(await client.getPushers(), { pushers: [] });
