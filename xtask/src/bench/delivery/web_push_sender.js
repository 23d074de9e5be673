// Sends Web Push messages with web-push, and prints their number per second of CPU time.

const http = require('http');
const webPush = require('web-push');

const [, origin, count, p256dh, auth, message] = process.argv;
const CONNECTIONS = 16;
const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS });
const vapidDetails = { subject: 'mailto:ops@ring.example', ...webPush.generateVAPIDKeys() };

// web-push itself only sends over TLS.
function send(number) {
  const subscription = { endpoint: `${origin}/push/${number}`, keys: { p256dh, auth } };
  const options = { vapidDetails, TTL: 86400, contentEncoding: 'aes128gcm' };
  const details = webPush.generateRequestDetails(subscription, message, options);
  return new Promise((resolve, reject) => {
    const { endpoint, method, headers, body } = details;
    const request = http.request(endpoint, { method, headers, agent }, (response) => {
      response.resume().on('end', () => (response.statusCode === 201 ? resolve() : reject()));
    });
    request.on('error', reject).end(body);
  });
}

async function sendAll() {
  let next = 0;
  const sendSome = async () => {
    while (next < Number(count)) await send(next++);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, sendSome));
}

const start = process.cpuUsage();
sendAll().then(() => {
  const { user, system } = process.cpuUsage(start);
  console.log(Number(count) / ((user + system) / 1e6));
  agent.destroy();
});
