// Keeps a click that was meant for another window from letting an app in: for half a second after
// the page comes to the front, the button that allows does nothing.
const button = document.getElementById("allow");
let timer;

function steady() {
  clearTimeout(timer);
  button.setAttribute("aria-disabled", "true");
  timer = setTimeout(() => button.removeAttribute("aria-disabled"), 500);
}

button.addEventListener("click", (event) => {
  if (button.hasAttribute("aria-disabled")) event.preventDefault();
});
window.addEventListener("focus", steady);
window.addEventListener("pageshow", steady);
document.addEventListener("visibilitychange", steady);
steady();
