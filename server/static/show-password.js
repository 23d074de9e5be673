// The check box that shows the passwords of its form. Without this script it stays hidden.
for (const box of document.querySelectorAll("[data-show-password]")) {
  const fields = box.form.querySelectorAll("[type=password]");
  const show = (isShown) => fields.forEach((field) => (field.type = isShown ? "text" : "password"));
  box.addEventListener("change", () => show(box.checked));
  // Browsers store only passwords, and would suggest the text later.
  box.form.addEventListener("submit", () => show(false));
  box.closest("label").hidden = false;
}
