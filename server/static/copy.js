// The copy button of the code page. Without this script it stays hidden, and the user selects the
// code.
const code = document.getElementById("code");
const button = document.getElementById("copy");
const notice = document.getElementById("copied");

code.addEventListener("focus", () => code.select());
if (document.activeElement === code) code.select();
button.addEventListener("click", async () => {
  code.select();
  try {
    await navigator.clipboard.writeText(code.value);
  } catch {
    // Without HTTPS browsers have no clipboard API, only the older command.
    if (!document.execCommand("copy")) return;
  }
  notice.textContent = button.dataset.copied;
});
button.hidden = false;
