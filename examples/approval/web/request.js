// Keeps the page as the run is. The browser connects again by itself, and says which checkpoint it has seen last.
"use strict";

const page = document.body.dataset;
const events = new EventSource(`/requests/${page.request}/events?after=${page.after}`);
const byId = (id) => document.getElementById(id);

events.addEventListener("checkpoint", (e) => {
  const { log, outcome } = JSON.parse(e.data);
  byId("log").replaceChildren(...(log || []).map((line) => {
    const li = document.createElement("li");
    li.textContent = line;
    return li;
  }));
  byId("progress").textContent = "";
  if (outcome) byId("status").textContent = outcome;
});

events.addEventListener("progress", (e) => {
  byId("status").textContent = "running";
  byId("progress").textContent = JSON.parse(e.data);
});

// A question that the page does not show is one that was asked since. What somebody is typing is left alone.
events.addEventListener("question", (e) => {
  const id = JSON.parse(e.data);
  const shown = [...document.querySelectorAll("[data-question]")].some((f) => f.dataset.question === id);
  if (!shown) location.reload();
});

// While the request waits, or the server goes down, the browser connects again after a second, and finds what came since.
events.addEventListener("end", (e) => {
  const status = JSON.parse(e.data);
  byId("progress").textContent = "";
  if (status === "asked") byId("status").textContent = "waiting";
  if (status === "asked" || status === "paused") return;
  if (status === "failed") byId("status").textContent = status;
  for (const form of document.querySelectorAll("form.question")) form.remove();
  events.close();
});
