// Tells the server when the next morning begins in the time zone of the browser. Without it, the
// morning begins at 8:00 UTC, and the page says so.
const MORNING = 8;
const SHORTEST_NIGHT = 4 * 60 * 60 * 1000;

const field = document.querySelector("input[name=morning]");
field?.form.addEventListener("submit", () => {
  const morning = new Date();
  morning.setHours(MORNING, 0, 0, 0);
  while (morning - Date.now() < SHORTEST_NIGHT) morning.setDate(morning.getDate() + 1);
  field.value = morning.getTime();
});
