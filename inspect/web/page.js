// Copies, keys and live pages. Every page also works without this script.
"use strict";

// Buttons that copy a text.
function addCopies(root) {
	for (const button of root.querySelectorAll("button[data-copy]")) {
		if (!navigator.clipboard) continue; // the page came over plain HTTP
		button.hidden = false;
		button.addEventListener("click", async () => {
			await navigator.clipboard.writeText(button.dataset.copy);
			button.textContent = "Copied";
		});
	}
	for (const link of root.querySelectorAll("a[data-json]")) {
		if (!navigator.clipboard || link.nextElementSibling?.matches("button.json")) continue;
		const button = document.createElement("button");
		button.type = "button";
		button.className = "copy json";
		button.textContent = "Copy JSON";
		button.addEventListener("click", async () => {
			const response = await fetch(link.href);
			if (!response.ok) { button.textContent = "The server failed"; return; }
			await navigator.clipboard.writeText(await response.text());
			button.textContent = "Copied";
		});
		link.after(" ", button);
	}
}

// Keys: / searches, j and k move in a table, Enter opens its row.
let row = -1;
function rows() { return [...document.querySelectorAll("table[data-keys] tbody tr")]; }
document.addEventListener("keydown", (event) => {
	if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select, button, summary")) return;
	const all = rows();
	if (event.key === "/") {
		const search = document.querySelector("input[type=search]");
		if (search) { search.focus(); event.preventDefault(); }
	} else if ((event.key === "j" || event.key === "k") && all.length > 0) {
		all[row]?.classList.remove("current");
		row = Math.min(Math.max(row + (event.key === "j" ? 1 : -1), 0), all.length - 1);
		all[row].classList.add("current");
		all[row].querySelector("a")?.focus();
	} else if (event.key === "n" || event.key === "p") {
		document.querySelector(event.key === "n" ? "a[rel=next]" : "a[rel=first]")?.click();
	}
});

// A live page asks for its pulse, and loads itself again when that has changed.
const main = document.getElementById("main");
let beat = main.dataset.beat;
const live = document.getElementById("live");

// Whether the reader is in the middle of something that a new page would lose.
function busy() {
	const at = document.activeElement;
	if (at && main.contains(at) && at.matches("input, textarea, select")) return true;
	if (String(document.getSelection())) return true;
	return [...main.querySelectorAll("input:not([type=hidden]), textarea, select")].some((field) =>
		field.matches("[type=radio], [type=checkbox]") ? field.checked !== field.defaultChecked :
			field.matches("select") ? field.selectedIndex !== Math.max(0, [...field.options].findIndex((o) => o.defaultSelected)) :
				field.value !== field.defaultValue);
}

// The folded parts that the reader has opened or closed, by their place.
function folds() { return [...main.querySelectorAll("details")].map((d) => d.open); }

async function reload() {
	const response = await fetch(location.href, { headers: { Accept: "text/html" } });
	if (!response.ok) return;
	const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
	const next = fresh.getElementById("main");
	if (!next || busy()) return;
	const open = folds();
	const link = (e) => e?.getAttribute("href");
	const focus = link(document.activeElement?.closest("a")), current = link(rows()[row]?.querySelector("a"));
	main.replaceChildren(...next.childNodes);
	beat = next.dataset.beat;
	const now = [...main.querySelectorAll("details")];
	if (now.length === open.length) now.forEach((d, i) => { d.open = open[i]; });
	if (focus) [...main.querySelectorAll("a")].find((a) => link(a) === focus)?.focus();
	row = current ? rows().findIndex((r) => link(r.querySelector("a")) === current) : -1;
	rows()[row]?.classList.add("current");
	addCopies(main);
}

async function listen() {
	const pause = 2000;
	try {
		if (!document.hidden) {
			const response = await fetch(main.dataset.pulse);
			const now = response.ok ? await response.text() : beat;
			if (live) live.hidden = !response.ok;
			if (now !== beat && !busy()) await reload();
		}
	} catch {
		if (live) live.hidden = true; // the server is away
	}
	setTimeout(listen, pause);
}

addCopies(document);
if (main.dataset.pulse) listen();
