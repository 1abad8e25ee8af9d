import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "@jest/globals";
import { startModelServer } from "../servers/model-server.ts";
import { killServiceProcesses, startServiceProcess } from "../servers/service-process.ts";
import { postJson } from "../support/clients/api-client.ts";
import { makeKnowledgeClient } from "../support/clients/knowledge-client.ts";
import { useOpened } from "../support/use-opened.ts";
import type { TurnResult } from "../../turn/events.ts";
import { settingsOfAllTools, useEverything, useReaders } from "./used-once.ts";

// It reads every type of document, on a busy machine, too.
let folder: string;
const model = useOpened(startModelServer);
afterEach(async () => {
  await killServiceProcesses();
  await rm(folder, { recursive: true, force: true });
});

test("the built service reads every type of document, and has its page, its description and its documentation", async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-built-"));
  const service = await startServiceProcess({ DATA_DIR: folder });
  await useReaders(service.url);
  for (const page of ["/", "/docs", "/docs/swagger-ui.css", "/openapi.json"]) expect((await fetch(service.url + page)).status).toBe(200);
  expect(service.output()).not.toMatch(/"level":[456]0|warning/i);
});

test("the built service has every tool and every protocol, and reaches no server of a tenant on this machine", async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-built-"));
  const service = await startServiceProcess({ DATA_DIR: path.join(folder, "data"), ...settingsOfAllTools(model, folder) });
  await useEverything(service.url, model);
});

test("the built service answers for a knowledge base by the handler of KB_HANDLERS, unless handlers are switched off", async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-built-"));
  const KB_HANDLERS = fileURLToPath(new URL("../../examples/handlers.js", import.meta.url));
  const ask = async (url: string): Promise<string> => {
    const body = { user_id: "ada", session_id: "s", message: "How much are 12 boxes of M4 screws?", kb_prefix: "prices" };
    return (await postJson<TurnResult>(`${url}/api/v1/chat`, body)).json.answer;
  };
  const service = await startServiceProcess({ DATA_DIR: folder, KB_HANDLERS });
  const knowledge = makeKnowledgeClient(service.url);
  await knowledge.put("prices", { description: "Prices of screws" });
  await knowledge.upload("prices", { title: "Price list" }, "text/csv", "article,unit,price in euros\nM4 screw,box of 100,7.50");
  await knowledge.settled("prices");
  expect(await ask(service.url)).toBe("12 × box of 100 of M4 screw at 7.50 euros is 90.00 euros [1].");
  expect(service.output()).toContain(`handlers of ${KB_HANDLERS}`);
  service.kill("SIGTERM");
  await service.exited;
  const without = await startServiceProcess({ DATA_DIR: folder, KB_HANDLERS, ENABLE_KB_HANDLERS: "false" });
  expect(await ask(without.url)).not.toContain("90.00 euros");
});
