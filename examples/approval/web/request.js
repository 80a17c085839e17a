// Keeps the page as the run is. The browser connects again by itself when a connection breaks, and says which checkpoint it
// has seen last.
"use strict";

const page = document.body.dataset;
const byId = (id) => document.getElementById(id);
let events = connect();

function connect() {
  const source = new EventSource(`/requests/${page.request}/events?after=${page.after}`);
  source.addEventListener("checkpoint", checkpoint);
  source.addEventListener("progress", progress);
  source.addEventListener("question", question);
  source.addEventListener("end", end);
  // For a browser any answer but 200 is the last word, also that of a proxy whose server is away for a moment.
  source.addEventListener("error", () => {
    if (source.readyState === EventSource.CLOSED) setTimeout(() => { events = connect(); }, 1000);
  });
  return source;
}

function checkpoint(e) {
  const { log, outcome } = JSON.parse(e.data);
  page.after = e.lastEventId;
  byId("log").replaceChildren(...(log || []).map((line) => {
    const li = document.createElement("li");
    li.textContent = line;
    return li;
  }));
  byId("progress").textContent = "";
  if (outcome) byId("status").textContent = outcome;
}

function progress(e) {
  byId("status").textContent = "running";
  byId("progress").textContent = JSON.parse(e.data);
}

// A question that the page does not show is one that was asked since. What somebody is typing is left alone.
function question(e) {
  const id = JSON.parse(e.data);
  const shown = [...document.querySelectorAll("[data-question]")].some((f) => f.dataset.question === id);
  if (!shown) location.reload();
}

// While the request waits, or the server goes down, the browser connects again after a second, and finds what came since.
function end(e) {
  const status = JSON.parse(e.data);
  byId("progress").textContent = "";
  if (status === "waiting") byId("status").textContent = "waiting";
  if (status === "waiting" || status === "paused") return;
  if (status === "failed") byId("status").textContent = status;
  for (const form of document.querySelectorAll("form.question")) form.remove();
  events.close();
}
