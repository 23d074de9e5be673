// Shows a notification for each push message. Reports the message and the notification to the test.

addEventListener("push", (event) => {
  event.waitUntil(receive(event).catch((error) => report(`${error}\n${error.stack}`)));
});

async function receive(event) {
  const message = event.data.json();
  const tag = String(message.notification_id ?? message.event_id ?? message.app_id);
  const title = message.title ?? message.sender ?? "Activation";
  await registration.showNotification(title, { tag, body: message.body ?? message.content?.body });
  const notifications = await registration.getNotifications({ tag });
  await report({ message, shown: notifications.map(({ title, body }) => [title, body]) });
}

function report(result) {
  return fetch("/push", { method: "POST", body: JSON.stringify(result) });
}
