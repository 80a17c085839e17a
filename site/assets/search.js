// Searches the sections of all pages. Every word of the query must occur; a word in a heading counts more.
const box = document.querySelector(".search input");
const list = document.querySelector(".search ol");
let index;

async function load() {
  index ??= fetch(document.body.dataset.index).then((r) => r.json());
  return index;
}

function score(section, words) {
  let total = 0;
  const page = section.page.toLowerCase(), heading = section.heading.toLowerCase(), text = section.text.toLowerCase();
  for (const word of words) {
    const inHeading = heading.includes(word), inPage = page.includes(word), at = text.indexOf(word);
    if (!inHeading && !inPage && at < 0) return 0;
    total += (inHeading ? 8 : 0) + (inPage ? 4 : 0) + (at >= 0 ? 1 + Math.min(text.split(word).length - 1, 5) / 5 : 0);
  }
  return total;
}

function snippet(text, words) {
  const lower = text.toLowerCase();
  const first = Math.min(...words.map((w) => lower.indexOf(w)).filter((i) => i >= 0), text.length);
  const from = first === text.length ? 0 : Math.max(0, text.lastIndexOf(" ", first - 40));
  return text.slice(from, from + 120).trim();
}

async function show() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  list.hidden = words.length === 0;
  if (words.length === 0) return;
  const found = (await load())
    .map((section) => [score(section, words), section])
    .filter(([points]) => points > 0)
    .sort(([a], [b]) => b - a)
    .slice(0, 12);
  list.replaceChildren(...found.map(([, section]) => {
    const item = document.createElement("li"), a = document.createElement("a");
    const title = document.createElement("strong"), text = document.createElement("span");
    a.href = section.url;
    title.textContent = section.heading ? `${section.page}: ${section.heading}` : section.page;
    text.textContent = snippet(section.text, words);
    a.append(title, text);
    item.append(a);
    return item;
  }));
  if (found.length === 0) list.append(Object.assign(document.createElement("li"), { textContent: "Nothing found" }));
}

box.addEventListener("focus", load);
box.addEventListener("input", show);
box.addEventListener("keydown", (e) => {
  const links = [...list.querySelectorAll("a")];
  if (e.key === "Enter" && links[0]) location.href = links[0].href;
  if (e.key === "ArrowDown" && links[0]) { links[0].focus(); e.preventDefault(); }
  if (e.key === "Escape") { box.value = ""; show(); }
});
list.addEventListener("keydown", (e) => {
  const links = [...list.querySelectorAll("a")], at = links.indexOf(document.activeElement);
  if (e.key === "ArrowDown") { links[Math.min(at + 1, links.length - 1)].focus(); e.preventDefault(); }
  if (e.key === "ArrowUp") { (links[at - 1] ?? box).focus(); e.preventDefault(); }
});
document.addEventListener("keydown", (e) => {
  if (e.key === "/" && document.activeElement !== box) { box.focus(); e.preventDefault(); }
});
document.addEventListener("click", (e) => { if (!e.target.closest(".search")) list.hidden = true; });
