import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildGraph } from "../../graph/build-graph.ts";
import type { Node } from "../../turn/context.ts";

const PAGE = fileURLToPath(new URL("../../docs/architecture.md", import.meta.url));

/** The only generated block of the page. */
const DRAWING = /^```mermaid\n.*?^```$/ms;

const nothing: Node = async () => ({});

/** The compiled graph of a turn in Mermaid's language: https://mermaid.js.org/syntax/flowchart.html */
async function drawGraph(): Promise<string> {
  const graph = buildGraph({
    route: nothing,
    history: nothing,
    coreMemory: nothing,
    retrieve: nothing,
    generate: nothing,
    generateKb: nothing,
    generateAgent: nothing,
    hasHandler: () => false,
    persist: nothing,
  });
  return (await graph.getGraphAsync()).drawMermaid().trim();
}

/** The page with a new drawing. Throws when it has no place for it. */
export async function renderArchitecture(page: string): Promise<string> {
  if (!DRAWING.test(page)) throw new Error("docs/architecture.md has no ```mermaid block to put the graph into: add an empty one.");
  const drawing = await drawGraph();
  return page.replace(DRAWING, () => `\`\`\`mermaid\n${drawing}\n\`\`\``);
}

if (import.meta.main) writeFileSync(PAGE, await renderArchitecture(readFileSync(PAGE, "utf8")));
