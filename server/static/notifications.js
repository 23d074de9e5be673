// Shows the times of the page in the time zone of the browser, and tells the server when the next
// morning begins there. Without it, all times are in UTC, and the page says so.
const MORNING = 8;
const SHORTEST_NIGHT = 4 * 60 * 60 * 1000;

for (const time of document.querySelectorAll("time")) {
  const date = new Date(time.dateTime);
  const isToday = date.toDateString() === new Date().toDateString();
  const day = isToday ? {} : { weekday: "long", day: "numeric", month: "long" };
  const format = { ...day, hour: "numeric", minute: "2-digit" };
  time.textContent = new Intl.DateTimeFormat(document.documentElement.lang, format).format(date);
}
for (const note of document.querySelectorAll(".utc")) note.hidden = true;

const field = document.querySelector("input[name=morning]");
field?.form.addEventListener("submit", () => {
  const morning = new Date();
  morning.setHours(MORNING, 0, 0, 0);
  while (morning - Date.now() < SHORTEST_NIGHT) morning.setDate(morning.getDate() + 1);
  field.value = morning.getTime();
});
