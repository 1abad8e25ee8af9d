import { writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "@jest/globals";
import { DOCUMENT_TYPES } from "../../memory/documents/parsing/document.ts";
import { DOCX, PDF, pdfOf, sampleDocx, wordParagraph } from "../memory/documents/parsing/sample-documents.ts";
import { ODT, PPTX, sampleOdt, samplePptx, sampleXlsx, sheetRow, XLSX } from "../memory/documents/parsing/sample-office-files.ts";
import type { ModelServer } from "../servers/model-server.ts";
import { putJson } from "../support/clients/api-client.ts";
import { makeKnowledgeClient } from "../support/clients/knowledge-client.ts";
import { askingClient, callOf } from "../support/services/asking-agent.ts";

const DOCUMENTS: Record<string, string | Buffer> = {
  "text/plain": "words",
  "text/markdown": "# words",
  "text/csv": "words\nwords",
  "text/html": "<p>words</p>",
  [PDF]: pdfOf("words"),
  [DOCX]: sampleDocx(wordParagraph("words")),
  [PPTX]: samplePptx([["words", "words"]]),
  [XLSX]: sampleXlsx({ words: sheetRow(1, ["words"]) }),
  [ODT]: sampleOdt("<text:p>words</text:p>"),
};

/** Reads a document of every type. */
export async function useReaders(url: string): Promise<void> {
  expect(Object.keys(DOCUMENTS).toSorted()).toEqual(Object.keys(DOCUMENT_TYPES).toSorted());
  const knowledge = makeKnowledgeClient(url);
  expect((await knowledge.put("handbook", { description: "Words" })).status).toBe(201);
  for (const [type, bytes] of Object.entries(DOCUMENTS)) {
    const body = typeof bytes === "string" ? bytes : new Uint8Array(bytes);
    expect(await knowledge.upload("handbook", { title: type }, type, body)).toMatchObject({ status: 202 });
  }
  const read = (await knowledge.settled("handbook")).map(({ title, status, error }) => ({ title, status, error }));
  const indexed = Object.keys(DOCUMENTS).map((title) => ({ title, status: "indexed", error: null }));
  expect(read.toSorted((one, other) => one.title.localeCompare(other.title))).toEqual(
    indexed.toSorted((one, other) => one.title.localeCompare(other.title)),
  );
}

const SKILL = "---\nname: sailing\ndescription: How to sail\n---\nKeep the wind in the sails.";
const ODD = fileURLToPath(new URL("../servers/odd-mcp-server.ts", import.meta.url));
const OPTIONS = [{ label: "yes" }, { label: "no" }];

/** Settings with which all tools are there; the file of MCP servers is written into `folder`. */
export function settingsOfAllTools(model: Pick<ModelServer, "url">, folder: string): Record<string, string> {
  const MCP_CONFIG = path.join(folder, "mcp.json");
  writeFileSync(MCP_CONFIG, JSON.stringify({ mcpServers: { odd: { command: process.execPath, args: [ODD] } } }));
  const SECRETS_KEY = "a key of more than thirty-two characters";
  return {
    OPENAI_BASE_URL: model.url,
    CHAT_MODEL: "test-chat",
    EMBEDDING_MODEL: "built-in",
    WEB_FETCH: "true",
    MCP_CONFIG,
    SECRETS_KEY,
  };
}

/** What each tool says: its arguments, and a part of what it gives. Questions are asked instead. */
const TOOLS: Record<string, [given: object, says: RegExp]> = {
  calculate: [{ expression: "6 * 7" }, /42/],
  current_time: [{ time_zone: "Europe/Lisbon" }, /Lisbon/],
  todo_write: [{ items: [{ content: "Sail", status: "in_progress" }] }, /./],
  memory_save: [{ content: "The boat is called Nautilus." }, /Saved/],
  memory_search: [{ query: "What is the boat called?" }, /./],
  core_memory_update: [{ section: "goals", content: "Wants to sail." }, /version 1/],
  knowledge_search: [{ query: "words" }, /words/],
  conversation_search: [{ query: "submarine" }, /No message/],
  load_skill: [{ name: "sailing" }, /wind in the sails/],
  web_fetch: [{ url: "http://127.0.0.1:8000/" }, /address_refused.*does not lead to a public address/],
  mcp__odd__echo: [{ text: "said again" }, /said again/],
};

/** Calls every tool once, each in a turn of its own. Needs what `useReaders` has read. */
async function useTools(url: string, model: ModelServer): Promise<void> {
  const asking = askingClient({ url, model });
  expect((await putJson(`${url}/api/v1/skills/sailing`, { files: { "SKILL.md": SKILL } })).status).toBe(201);
  await asking.makeAgent("clerk", { skills: ["*"], permissions: [{ tool: "*", action: "allow" }] });
  for (const [tool, [given, says]] of Object.entries(TOOLS)) {
    asking.follow([callOf(tool, given)], "Done.");
    const { events } = await asking.ask("clerk");
    const outputs = events.flatMap(({ data }) => (data.status === "tool_result" ? [data.content.output] : []));
    expect({ tool, outputs }).toEqual({ tool, outputs: [expect.stringMatching(says)] });
  }
  for (const [tool, given] of [
    ["ask_decision", { decision_type: "branch", context: "Which way?", options: OPTIONS }],
    ["ask_clarification", { question_type: "scope", question: "How far?", options: OPTIONS }],
  ] as const) {
    asking.follow([callOf(tool, given)], "Done.");
    const waiting = await asking.untilWaiting("clerk");
    expect((await asking.answer(waiting, { answer: "yes" })).status).toBeLessThan(300);
    expect((await asking.rest(waiting)).events.at(-1)?.data.status).toBe("done");
  }
  const ofAgent = model.seen.map(({ body: { tools = [] } }) => tools.map((tool) => tool.function.name));
  const offered = ofAgent.find((names) => names.includes("calculate")) ?? [];
  const ours = offered.filter((name) => !name.startsWith("mcp__odd__") && !name.startsWith("ask_"));
  expect(ours.toSorted()).toEqual(
    Object.keys(TOOLS)
      .filter((name) => !name.startsWith("mcp__"))
      .toSorted(),
  );
}

/** A server of a tenant on this machine is refused when its name is looked up: its tools are missing. */
async function useTenantsServers(url: string, model: ModelServer): Promise<void> {
  const asking = askingClient({ url, model });
  expect((await putJson(`${url}/api/v1/mcp-servers/inside`, { url: "http://localhost:8000/mcp" })).status).toBe(201);
  await asking.makeAgent("guest", { tools: ["mcp__inside__*"] });
  asking.follow("Without.");
  const { events } = await asking.ask("guest");
  const notices = events.flatMap(({ data }) => (data.status === "notice" ? [data.content.message] : []));
  expect(notices).toEqual([expect.stringMatching(/"localhost" does not lead to a public address/)]);
}

const USER = { user_id: "ada" };
const SAID = [{ role: "user", content: "Hello." }];
const PARTS = [{ id: "m1", role: "user", parts: [{ type: "text", text: "Hello." }] }];
const MCP = { accept: "application/json, text/event-stream", "x-user-id": "ada" };
const PROTOCOLS: [name: string, route: string, body: object, says: RegExp, headers?: Record<string, string>][] = [
  ["the own API", "/api/v1/chat/stream", { ...USER, session_id: "s", message: "Hello." }, /"status":"done"/],
  ["completions", "/v1/chat/completions", { model: "conversation-graph", messages: SAID }, /"chat.completion"/],
  ["responses", "/v1/responses", { model: "conversation-graph", input: "Hello." }, /"completed"/],
  ["embeddings", "/v1/embeddings", { model: "any", input: "words" }, /"embedding"/],
  ["the AI SDK", "/api/v1/chat/ui-messages", { ...USER, id: "chat", messages: PARTS }, /"text-delta"/],
  ["LangGraph", "/langgraph/runs/wait", { assistant_id: "assistant", input: { messages: SAID }, metadata: USER }, /"messages"/],
  ["MCP", "/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list" }, /core_memory_get/, MCP],
];

/** Asks once by every protocol. */
async function useProtocols(url: string, model: ModelServer): Promise<void> {
  model.answer({ tokens: ["Hi."] });
  for (const [name, route, body, says, headers] of PROTOCOLS) {
    const sent = { "content-type": "application/json", ...headers };
    const response = await fetch(url + route, { method: "POST", headers: sent, body: JSON.stringify(body) });
    const { status, text } = { status: response.status, text: await response.text() };
    expect({ name, status, text }).toEqual({ name, status: 200, text: expect.stringMatching(says) });
  }
}

/** Uses each reader, tool and protocol once. Needs `settingsOfAllTools`. */
export async function useEverything(url: string, model: ModelServer): Promise<void> {
  await useReaders(url);
  await useTools(url, model);
  await useProtocols(url, model);
  await useTenantsServers(url, model);
}
