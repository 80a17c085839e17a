// Runs the graphs of the comparison on LangGraph for JavaScript. Its SQLite checkpointer needs better-sqlite3, a native
// module. Without it there are no rows for turns.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Annotation, END, MemorySaver, START, StateGraph } from "@langchain/langgraph";

const LOOP = 1000, CHAIN = 100, FAN = 100;
const TEXT = "x".repeat(200);

const Conversation = Annotation.Root({
  step: Annotation(),
  messages: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }),
});
const Counter = Annotation.Root({ n: Annotation({ reducer: (a, b) => a + b, default: () => 0 }) });

function want(what, got, expected) {
  if (got !== expected) throw new Error(`${what}: got ${got}, want ${expected}`);
}

async function row(name, units, f) {
  let best = Infinity;
  const begin = performance.now();
  for (let runs = 0; runs < 3 || performance.now() - begin < 500; runs++) {
    const start = performance.now();
    await f();
    best = Math.min(best, performance.now() - start);
  }
  console.log(`${name}\t${Math.round((best * 1e6) / units)}`);
}

const loop = new StateGraph(Conversation)
  .addNode("say", (s) => ({ step: s.step + 1, messages: [{ role: "assistant", text: TEXT }] }))
  .addEdge(START, "say")
  .addConditionalEdges("say", (s) => (s.step < LOOP ? "say" : END), ["say", END]);
await row("loop, in memory", LOOP, async () => {
  const graph = loop.compile({ checkpointer: new MemorySaver() });
  const config = { configurable: { thread_id: "t" }, recursionLimit: 2 * LOOP };
  want("messages", (await graph.invoke({ step: 0, messages: [] }, config)).messages.length, LOOP);
});

function counting(n, wire) {
  const builder = new StateGraph(Counter);
  const ids = Array.from({ length: n }, (_, i) => `n${i}`);
  for (const id of ids) builder.addNode(id, () => ({ n: 1 }));
  wire(builder, ids);
  const graph = builder.compile();
  return async () => want("count", (await graph.invoke({ n: 0 }, { recursionLimit: 2 * n })).n, n);
}

await row("chain", CHAIN, counting(CHAIN, (b, ids) => {
  [START, ...ids].forEach((src, i) => b.addEdge(src, i < ids.length ? ids[i] : END));
}));
await row("fan-out", FAN, counting(FAN, (b, ids) => {
  for (const id of ids) b.addEdge(START, id).addEdge(id, END);
}));

async function turns() {
  const { SqliteSaver } = await import("@langchain/langgraph-checkpoint-sqlite");
  const folder = mkdtempSync(join(tmpdir(), "peers"));
  try {
    const graph = new StateGraph(Conversation)
      .addNode("say", () => ({ messages: [{ role: "assistant", text: TEXT }] }))
      .addEdge(START, "say")
      .addEdge("say", END)
      .compile({ checkpointer: SqliteSaver.fromConnString(join(folder, "threads.db")) });
    let first = Infinity, last = Infinity;
    for (let turn = 1; turn <= 1004; turn++) {
      const start = performance.now();
      const state = await graph.invoke({ step: turn }, { configurable: { thread_id: "t" } });
      const took = performance.now() - start;
      want("messages", state.messages.length, turn);
      if (turn >= 7 && turn <= 13) first = Math.min(first, took);
      else if (turn >= 997) last = Math.min(last, took);
    }
    console.log(`SQLite, turn 10\t${Math.round(first * 1e6)}\nSQLite, turn 1,000\t${Math.round(last * 1e6)}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

try {
  await turns();
} catch (err) {
  console.error(`SQLite: ${err.message.split("\n")[0]}`);
}
