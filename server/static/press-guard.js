// Ignores presses that were meant for another window or for the page before. A site can open a page of
// ours under the pointer of a user who is about to click, or while the user holds a key, which then
// repeats in our page. So a button takes effect only if the key or pointer was pressed in this page after
// a pause of half a second. The pause begins when the page was loaded from another site or from the
// history, when it gets the focus or becomes visible, and with each repetition of a held key. The script
// is loaded before the page is shown, so that it sees every press.
//
// It also submits a form only once, because the second request of a double click on the consent page would
// find the authorization request closed and cancel the first. After three seconds it can be submitted
// again, for users who stopped loading the response.
const isFromOwnPage = !document.currentScript.hasAttribute("data-pause-at-load");
const isFromHistory = performance.getEntriesByType("navigation")[0]?.type === "back_forward";
let timer;
let isPaused = false;
// The key, or "pointer", that was pressed in this page after the pause.
let press;
let submittedForm;

function pause() {
  clearTimeout(timer);
  isPaused = true;
  press = undefined;
  timer = setTimeout(() => {
    isPaused = false;
    showPause();
  }, 500);
  showPause();
}

function showPause() {
  for (const button of document.querySelectorAll("form button")) {
    if (isPaused) button.setAttribute("aria-disabled", "true");
    else button.removeAttribute("aria-disabled");
  }
}

// Whether a key presses a button, changes a field or submits its form, and does not enter text.
function isPress({ key, target }) {
  if (!target.closest("form") || target.matches("textarea")) return false;
  return key === "Enter" || (key === " " && !target.matches("input:not([type=checkbox])"));
}

// Enter takes effect when it is pressed, Space when it is released.
function onKeyDown(event) {
  if (!isPress(event)) return;
  if (event.repeat) pause();
  press = isPaused ? undefined : event.key;
  if (isPaused) event.preventDefault();
}

function onKeyUp(event) {
  if (isPress(event) && event.key !== press) event.preventDefault();
}

function onPointerDown() {
  press = isPaused ? undefined : "pointer";
}

// Clicks by keys have passed the functions above, those of assistive technology have no key or pointer.
// Those of extensions, such as password managers, are not trusted events and cannot come from a site.
function onClick(event) {
  if (!event.isTrusted || !event.target.closest("form button")) return;
  const isByPointer = event.pointerType ?? event.detail > 0;
  if (isPaused || (isByPointer && press !== "pointer")) event.preventDefault();
}

function onSubmit(event) {
  if (event.target === submittedForm) event.preventDefault();
  submittedForm = event.target;
  setTimeout(() => (submittedForm = undefined), 3000);
}

function onPageShow(event) {
  submittedForm = undefined;
  if (event.persisted) pause();
  // The switch that was changed keeps the focus. Its id is not that of the button, which otherwise any
  // site could give the focus by a link.
  if (isFromOwnPage) document.querySelector(":target > button")?.focus();
}

window.addEventListener("keydown", onKeyDown, true);
window.addEventListener("keyup", onKeyUp, true);
window.addEventListener("pointerdown", onPointerDown, true);
window.addEventListener("click", onClick, true);
window.addEventListener("submit", onSubmit, true);
window.addEventListener("focus", pause);
window.addEventListener("pageshow", onPageShow);
document.addEventListener("visibilitychange", pause);
document.addEventListener("DOMContentLoaded", showPause);
if (!isFromOwnPage || isFromHistory) pause();
