// Shows a chat as its events say. A new connection gets the newest checkpoint, the pieces of the answer so far, and the open
// questions, so a page that is loaded again continues where it was.
"use strict";

const chat = "/chats/" + document.body.dataset.chat;
const byId = (id) => document.getElementById(id);
let events;
if (document.body.dataset.begun === "true") connect();

function connect() {
  if (events) events.close();
  events = new EventSource(chat + "/events");
  events.addEventListener("checkpoint", (e) => checkpoint(JSON.parse(e.data)));
  events.addEventListener("piece", (e) => piece(JSON.parse(e.data)));
  events.addEventListener("question", (e) => question(JSON.parse(e.data)));
  events.addEventListener("end", (e) => end(JSON.parse(e.data)));
  // For a browser any answer but 200 is the last word, also that of a proxy whose server is away for a moment.
  events.addEventListener("error", () => { if (events.readyState === EventSource.CLOSED) setTimeout(connect, 1000); });
}

function line(kind, text) {
  const li = document.createElement("li");
  li.className = kind;
  li.textContent = text;
  byId("messages").append(li);
  return li;
}

function checkpoint(state) {
  byId("messages").replaceChildren();
  byId("questions").replaceChildren();
  for (const l of state.lines || []) line(l.kind, l.text);
  byId("status").textContent = "working";
  byId("tokens").textContent = `${state.tokens} tokens`;
}

// A piece continues the newest answer. Pieces of a failed attempt do not count.
function piece(d) {
  let answer = byId("messages").querySelector(".piece");
  if (answer && (d.restart || answer.dataset.attempt !== d.attempt)) { answer.remove(); answer = null; }
  if (!answer) { answer = line("assistant piece", ""); answer.dataset.attempt = d.attempt; }
  answer.textContent += d.tool ? `[${d.tool}] ` : d.text || "";
}

function question(q) {
  if ([...document.forms].some((f) => f.dataset.question === q.id)) return;
  const form = document.createElement("form");
  form.className = "question";
  form.dataset.question = q.id;
  const p = document.createElement("p");
  p.textContent = `Call ${q.tool}? ${q.problem}`;
  const args = document.createElement("textarea");
  args.name = "args";
  args.value = q.args;
  args.setAttribute("aria-label", "arguments");
  form.append(p, args);
  for (const vote of ["allow", "deny"]) {
    const b = document.createElement("button");
    b.name = "vote";
    b.value = b.textContent = vote;
    form.append(b);
  }
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    post("/answers", { question: q.id, vote: e.submitter.value, args: args.value });
  });
  byId("questions").append(form);
}

// While the chat waits, a person can answer on another page: then the browser connects again and finds that.
function end(result) {
  byId("status").textContent = result.status;
  if (result.status !== "waiting") events.close();
  if (result.status === "waiting") return;
  byId("questions").replaceChildren();
  for (const p of document.querySelectorAll(".piece")) p.remove();
}

async function post(path, fields) {
  byId("notice").textContent = "";
  const res = await fetch(chat + path, { method: "POST", body: new URLSearchParams(fields) });
  if (!res.ok) { byId("notice").textContent = await res.text(); return false; }
  connect();
  return true;
}

const say = byId("say");
let id = crypto.randomUUID(); // of the next message: a message that is sent twice is one message
say.addEventListener("submit", async (e) => {
  e.preventDefault();
  if (await post("/messages", { id, text: say.elements.text.value })) {
    say.elements.text.value = "";
    id = crypto.randomUUID();
  }
});
say.elements.stop.addEventListener("click", () => post("/stop", {}));
