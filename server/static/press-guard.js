// Ignores presses that were meant for another window or for the page before. A site can open a page of
// ours under the pointer of a user who is about to click, or while the user holds a key, which then
// repeats in our page, or clicks again and again. So a button takes effect only if the key or pointer was
// pressed in this page after a pause: half a second, or a second if another site led here. The pause begins
// when the page was loaded from another site or from the history, when it gets the focus or becomes
// visible, with each repetition of a held key, and again with each press during it. The script is loaded
// before the page is shown, so that it sees every press. A page that the browser keeps for the history is
// stored during a pause, so that its buttons never look enabled before the pause of its return begins.
//
// It also submits a form only once, because the second request of a double click on the consent page would
// find the authorization request closed and cancel the first. After three seconds it can be submitted
// again, for users who stopped loading the response. Sign-in and sign-up pages need only this part: a press
// there gives nothing away, and users press Enter right after they return from a password manager.
const { dataset } = document.currentScript;
const isFromOwnPage = !("pauseAtLoad" in dataset);
const pauseLength = isFromOwnPage ? 500 : 1000;
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
  }, pauseLength);
  showPause();
}

// The page is about to be shown no longer: the pause ends only after `pause` is called again.
function pauseUntilShown() {
  pause();
  clearTimeout(timer);
}

function showPause() {
  for (const button of document.querySelectorAll("form button")) {
    if (isPaused) button.setAttribute("aria-disabled", "true");
    else button.removeAttribute("aria-disabled");
  }
}

function onKeyDown({ key, repeat }) {
  if (key !== "Enter" && key !== " ") return;
  if (repeat || isPaused) pause();
  press = isPaused ? undefined : key;
}

// Space takes effect when it is released, Enter when it is pressed.
function onKeyUp(event) {
  if (event.key === " " && press !== " ") event.preventDefault();
}

function onPointerDown() {
  if (isPaused) pause();
  press = isPaused ? undefined : "pointer";
}

// A key clicks the button that has the focus, or the first button of the form of a field. Assistive
// technology clicks without key or pointer. Clicks of extensions, such as password managers, are not
// trusted events; no site can cause them.
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

function onPageShow() {
  submittedForm = undefined;
  // The switch that was changed keeps the focus. Its id is not that of the button, which otherwise any
  // site could give the focus by a link.
  if (isFromOwnPage) document.querySelector(":target > button")?.focus();
}

window.addEventListener("submit", onSubmit, true);
window.addEventListener("pageshow", onPageShow);
if (!("withoutPause" in dataset)) {
  window.addEventListener("keydown", onKeyDown, true);
  window.addEventListener("keyup", onKeyUp, true);
  window.addEventListener("pointerdown", onPointerDown, true);
  window.addEventListener("click", onClick, true);
  window.addEventListener("focus", pause);
  window.addEventListener("pageshow", ({ persisted }) => persisted && pause());
  window.addEventListener("pagehide", pauseUntilShown);
  document.addEventListener("visibilitychange", () => (document.hidden ? pauseUntilShown() : pause()));
  document.addEventListener("DOMContentLoaded", showPause);
  if (!isFromOwnPage || isFromHistory) pause();
}
