// Ignores clicks on the consent page that were meant for another window or for the page before: for
// half a second after the page gets the focus, and after it was loaded from another site, the allow
// button has no effect and is shown as disabled. It also submits the decision only once, because the
// second request of a double click would find the authorization request closed and cancel the first.
// After three seconds it can be submitted again, for users who stopped loading the response.
const button = document.getElementById("allow");
const pausesAtLoad = button.hasAttribute("data-pause-at-load");
let timer;
let submitted = false;

function pause() {
  clearTimeout(timer);
  button.setAttribute("aria-disabled", "true");
  timer = setTimeout(() => button.removeAttribute("aria-disabled"), 500);
}

button.addEventListener("click", (event) => {
  if (button.hasAttribute("aria-disabled")) event.preventDefault();
});
button.form.addEventListener("submit", (event) => {
  if (submitted) event.preventDefault();
  submitted = true;
  setTimeout(() => (submitted = false), 3000);
});
window.addEventListener("focus", pause);
window.addEventListener("pageshow", (event) => {
  submitted = false;
  if (pausesAtLoad || event.persisted) pause();
});
document.addEventListener("visibilitychange", pause);
if (pausesAtLoad) pause();
