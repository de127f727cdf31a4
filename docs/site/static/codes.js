// The page of codes: a field above its tables shows only the rows that hold all words typed into it.
document.addEventListener("DOMContentLoaded", () => {
  const place = document.getElementById("code-filter");
  if (!place) return;
  const rows = [...document.querySelectorAll("section table tbody tr")].filter((row) => row.querySelector('[id^="E"], [id^="W"]'));
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const field = document.createElement("input");
  field.type = "search";
  field.className = "form-control";
  field.placeholder = "Show only codes with these words, such as: scalar offset";
  field.setAttribute("aria-label", field.placeholder);
  const count = document.createElement("p");
  count.setAttribute("role", "status");
  place.append(field, count);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, at) => {
      row.hidden = !words.every((word) => texts[at].includes(word));
      shown += row.hidden ? 0 : 1;
    });
    const sections = new Set(rows.map((row) => row.closest("section")));
    sections.forEach((section) => {
      section.hidden = !rows.some((row) => !row.hidden && row.closest("section") === section);
    });
    count.textContent = words.length ? `${shown} of ${rows.length} codes` : "";
  });
});
