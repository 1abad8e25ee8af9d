import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { postJson } from "../../../support/clients/api-client.ts";
import { streamTurn } from "../../../support/clients/turn-client.ts";
import { pngUrl } from "../../../support/samples/sample-pictures.ts";
import { packaged } from "../../../agents/mcp/open-mcp-servers.ts";
import { MCP_TIMES } from "../../../../agents/mcp/mcp-connection.ts";
import { fromLangChainTool } from "../../../../agents/tool.ts";
import { calls, useAgentService } from "./agent-service.ts";

const folder = mkdtempSync(path.join(tmpdir(), "pictures-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const MCP_CONFIG = path.join(folder, "mcp.json");
writeFileSync(MCP_CONFIG, JSON.stringify({ mcpServers: { everything: packaged("server-everything") } }));

const SHOWN = pngUrl(4, 3);
const camera = fromLangChainTool(
  tool(
    () => [
      { type: "text", text: "On the roof:" },
      ...[SHOWN, "data:image/png;base64,AAAA"].map((url) => ({ type: "image_url", image_url: { url } })),
    ],
    {
      ...{ name: "camera", description: "Takes a picture", schema: z.object({}) },
    },
  ),
  { onlyReads: true },
);
const { opened, follow, makeAgent, chats, ask } = useAgentService(
  { MCP_CONFIG },
  { extras: { tools: [camera] }, mcp: { times: { ...MCP_TIMES, answerMs: 50_000 } } },
);

const TINY = "mcp__everything__get-tiny-image";
const rules = (name: string) => ({ tools: [name], permissions: [{ tool: name, action: "allow" }] });
const sent = () => chats().at(-1)?.body.messages ?? [];

test("the model sees an MCP tool's picture after the results, and a placeholder for it in later turns", async () => {
  await makeAgent("looker", rules(TINY));
  follow([calls(TINY, {})], "A logo.");
  const { done, steps } = await ask("looker", "Look at it.", "look");
  expect(done).toMatchObject({ completed: true });
  expect(steps).toContainEqual(expect.objectContaining({ kind: "tool", name: TINY, output: expect.stringContaining("[picture 图片]") }));
  const [output, , pictures] = sent().slice(-3);
  expect(output).toMatchObject({ role: "tool", content: expect.stringContaining("[picture 图片]") as unknown });
  const image = { type: "image_url", image_url: { url: expect.stringMatching(/^data:image\/png;base64,/) as unknown } };
  expect(pictures).toMatchObject({ role: "user", content: [{ type: "text" }, image] });
  follow("As I said.");
  await ask("looker", "What was it?", "look");
  expect(JSON.stringify(sent())).toContain("[picture 图片]");
  expect(JSON.stringify(sent())).not.toContain("image_url");
});

test("a picture is shown to the model, too, when a person has allowed its call", async () => {
  await makeAgent("asker", { tools: ["camera"], permissions: [{ tool: "camera", action: "ask" }] });
  follow([calls("camera", {})], "A cat.");
  const { of, turnId } = await ask("asker", "What is there?");
  const answer = { question_id: of("waiting")[0]?.question.id, answer: "allow_once" };
  expect((await postJson(`${opened.url}/api/v1/turns/${turnId}/answers`, answer)).status).toBe(201);
  const { events } = await streamTurn(opened.url, turnId);
  expect(events.at(-1)?.data).toMatchObject({ status: "done", content: { answer: "A cat." } });
  expect(sent().at(-1)).toMatchObject({ role: "user", content: [{ type: "text" }, { image_url: { url: SHOWN } }] });
});

test("the model sees pictures of a tool that was registered by code, and reads which picture is unreadable", async () => {
  await makeAgent("watcher", rules("camera"));
  follow([calls("camera", {})], "A cat.");
  const { of } = await ask("watcher", "What is on the roof?");
  expect(of("tool_result")[0]?.output).toMatch(/^On the roof:\n\[picture 图片\]\n\[a picture is left out: it holds no picture/);
  expect(sent().at(-1)).toMatchObject({ content: [{ type: "text" }, { type: "image_url", image_url: { url: SHOWN } }] });
});

test("a model that cannot see reads that the picture was left out", async () => {
  await makeAgent("blind", rules("camera"));
  let asked = 0;
  opened.model.answer(({ messages, model }) => {
    if (model !== "test-chat") return { tokens: ["nothing"] };
    if (JSON.stringify(messages).includes("image_url")) return { status: 500, error: { message: "image input is not supported" } };
    return asked++ === 0 ? { toolCalls: [{ name: "camera", arguments: {} }] } : { tokens: ["No idea."] };
  });
  const { done } = await ask("blind", "What is there?");
  expect(done).toMatchObject({ answer: "No idea." });
  expect(sent().at(-1)?.content).toMatch(/Where none is shown here, it was left out/);
});
