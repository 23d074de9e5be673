// The copy button of the page that shows a code. Without this script the button stays hidden, and
// the code is selected by hand.
const code = document.getElementById("code");
const button = document.getElementById("copy");
const said = document.getElementById("copied");

code.addEventListener("focus", () => code.select());
if (document.activeElement === code) code.select();
button.addEventListener("click", async () => {
  code.select();
  try {
    await navigator.clipboard.writeText(code.value);
  } catch {
    // Browsers have no clipboard where there is no HTTPS, but the old way.
    if (!document.execCommand("copy")) return;
  }
  said.textContent = button.dataset.copied;
});
button.hidden = false;
