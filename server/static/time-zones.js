// Offers the time zones that the browser knows, and fills in its own where the user has not chosen
// one yet. Without it, the user enters the name of a time zone, and UTC is filled in.
const zone = document.querySelector("input[name=timezone]");
for (const name of zone ? (Intl.supportedValuesOf?.("timeZone") ?? []) : []) {
  const option = document.createElement("option");
  option.value = name;
  zone.list.append(option);
}
if (zone && "open" in zone.dataset) {
  zone.value = new Intl.DateTimeFormat().resolvedOptions().timeZone ?? zone.value;
}
