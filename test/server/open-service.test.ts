import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { makeKnowledgeHandlers, openService, type Service } from "../../server/index.ts";
import { callApi, postJson } from "../support/clients/api-client.ts";
import { createRealDatabase } from "../support/databases/databases.ts";

describe("a service in the process of its caller", () => {
  let service: Service;
  beforeAll(async () => {
    service = await openService({
      DATA_DIR: "memory://",
      SUMMARY_MIN_MESSAGES: 4,
      ENABLE_SUMMARY: true,
      LOG_LEVEL: "silent",
      TIME_ZONE: undefined,
    });
  });
  afterAll(() => service.close());

  test("remembers across sessions, and serves the same memory over HTTP", async () => {
    const { conversation_id: conversationId } = await service.ask({ userId: "ada", sessionId: "monday", message: "I live in Lisbon." });
    expect(await service.settle({ userId: "ada", conversationId })).toBe(true);
    const server = createServer(service.app).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const body = { user_id: "ada", session_id: "friday", message: "Where do I live?" };
    const { json } = await postJson<{ answer: string }>(`${url}/api/v1/chat`, body);
    expect(json.answer).toBe('What I know about you: "Lives in Lisbon."');
    expect((await callApi<{ layers: object }>(`${url}/api/v1/status`)).json.layers).toEqual({
      summary: "on",
      core_memory: "on",
      episodic: "on",
      knowledge: "on",
    });
    server.close();
  });

  test("takes instructions for a turn, and refuses instructions that are too long", async () => {
    const asked = { userId: "ada", sessionId: "told", message: "Hello!" };
    const { receipt } = await service.ask({ ...asked, instructions: "Rhyme." });
    expect(receipt.instructions).toMatchObject([{ from: "caller", characters: 6 }]);
    await expect(service.ask({ ...asked, instructions: "x".repeat(20_001) })).rejects.toMatchObject({
      details: [{ field: "instructions" }],
    });
  });

  test("refuses a wrong request with the name of the wrong field", async () => {
    await expect(service.ask({ userId: "ada", sessionId: "s", message: " " })).rejects.toMatchObject({
      code: "invalid_request",
      details: [{ field: "message" }],
    });
    const unknown = { userId: "ada", sessionId: "s", message: "x", requestedKbPrefix: "nowhere" };
    await expect(service.ask(unknown)).rejects.toMatchObject({ code: "invalid_request" });
  });
});

describe("handlers of knowledge bases", () => {
  const ask = { userId: "ada", sessionId: "s", message: "What does it cost?", requestedKbPrefix: "general" };

  test("can come from a module or from the program", async () => {
    const [folder, database] = await Promise.all([mkdtemp(path.join(os.tmpdir(), "handlers-")), createRealDatabase()]);
    const settings = { DATABASE_URL: database.url, LOG_LEVEL: "silent", ENABLE_EPISODIC_MEMORY: false };
    const file = path.join(folder, "handlers.mjs");
    await writeFile(file, "export default { general: async () => ({ rest: 'by the module' }) };");
    const byProgram = makeKnowledgeHandlers({ general: async ({ stream }) => stream("by the program") });
    for (const [answer, opening] of [
      ["by the module", openService({ ...settings, KB_HANDLERS: file })],
      ["by the program", openService(settings, { handlers: byProgram })],
    ] as const) {
      const service = await opening;
      expect((await service.ask(ask)).answer).toBe(answer);
      await service.close();
    }
    await expect(openService({ ...settings, KB_HANDLERS: file }, { handlers: byProgram })).rejects.toThrow(
      /KB_HANDLERS.*leave one of them out/,
    );
    await Promise.all([rm(folder, { recursive: true }), database.drop()]);
  });
});

test("a wrong or unknown setting is named in the error", async () => {
  await expect(openService({ SUMMARY_MIN_MESAGES: 4, PORT: 0 })).rejects.toThrow("There is no setting SUMMARY_MIN_MESAGES.");
  await expect(openService({ DATA_DIR: "memory://", HISTORY_WINDOW: "many" })).rejects.toThrow("HISTORY_WINDOW");
});
