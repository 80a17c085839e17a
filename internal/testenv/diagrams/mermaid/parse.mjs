// Parses the Mermaid diagrams that stdin holds as a JSON array of strings, and prints a JSON array with the error of
// each, or null.
import { readFileSync } from "node:fs";
import { JSDOM } from "jsdom";

// Mermaid cleans labels through a DOM.
const dom = new JSDOM("");
globalThis.window = dom.window;
globalThis.document = dom.window.document;
const { default: mermaid } = await import("mermaid");

const errors = [];
for (const source of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    await mermaid.parse(source);
    errors.push(null);
  } catch (e) {
    errors.push(e.message);
  }
}
console.log(JSON.stringify(errors));
