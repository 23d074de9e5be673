// Keeps a click that was meant for another window from letting an app in: for half a second after
// the page comes to the front, the button that allows does nothing. And a decision is sent once: of
// a double click, the second would find the request answered, and stop the first on its way.
// Whoever stops the page and thinks again can press it a few seconds later.
const button = document.getElementById("allow");
let timer;
let sent = false;

function steady() {
  clearTimeout(timer);
  button.setAttribute("aria-disabled", "true");
  timer = setTimeout(() => button.removeAttribute("aria-disabled"), 500);
}

button.addEventListener("click", (event) => {
  if (button.hasAttribute("aria-disabled")) event.preventDefault();
});
button.form.addEventListener("submit", (event) => {
  if (sent) event.preventDefault();
  sent = true;
  setTimeout(() => (sent = false), 3000);
});
window.addEventListener("focus", steady);
window.addEventListener("pageshow", () => {
  sent = false;
  steady();
});
document.addEventListener("visibilitychange", steady);
steady();
