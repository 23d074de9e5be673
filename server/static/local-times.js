// Shows the times of the page in the time zone of the browser. Without it they are in UTC, which
// they say.
const now = new Date();
const CLOCK = { hour: "numeric", minute: "2-digit" };

function format(date, name) {
  const isThisYear = date.getFullYear() === now.getFullYear();
  const day = { day: "numeric", month: "long", ...(isThisYear ? {} : { year: "numeric" }) };
  const isToday = date.toDateString() === now.toDateString();
  if (name === "day") return day;
  return name === "short" && isToday ? CLOCK : { weekday: "long", ...day, ...CLOCK };
}

for (const time of document.querySelectorAll("time")) {
  const date = new Date(time.dateTime);
  const options = format(date, time.dataset.format);
  time.textContent = new Intl.DateTimeFormat(document.documentElement.lang, options).format(date);
}
for (const note of document.querySelectorAll(".utc")) note.hidden = true;
