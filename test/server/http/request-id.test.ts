import { Writable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../../server/settings/config.ts";
import { makeLogger } from "../../../observe/logger.ts";
import { serve } from "../../../server/service/open-service.ts";
import { callApi, postJson } from "../../support/clients/api-client.ts";
import { postTurn } from "../../support/clients/event-client.ts";
import { type ModelServer, startModelServer } from "../../servers/model-server.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { NO_LIMITS } from "../../servers/service-process.ts";
import { waitUntil } from "../../support/wait-until.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

describe("the id of a request", () => {
  const lines: Record<string, unknown>[] = [];
  let model: ModelServer;
  let service: Awaited<ReturnType<typeof serve>>;
  let database: Awaited<ReturnType<typeof createRealDatabase>>;
  beforeAll(async () => {
    [model, database] = await Promise.all([startModelServer(), createRealDatabase()]);
    const destination = new Writable({
      write(text: Buffer, _encoding, done) {
        lines.push(JSON.parse(text.toString()) as Record<string, unknown>);
        done();
      },
    });
    const settings = { PORT: "0", DATABASE_URL: database.url, OPENAI_BASE_URL: model.url, ENABLE_EPISODIC_MEMORY: "false" };
    service = await serve(parseConfig({ ...NO_LIMITS, ...settings }), makeLogger("debug", destination));
  });
  afterAll(async () => {
    await service.close();
    await Promise.all([model.close(), database.drop()]);
  });

  const turn = (message = "hello"): object => ({ user_id: "ada", session_id: "s", message });
  const linesOf = (id: string): unknown[] => lines.filter(({ request_id }) => request_id === id).map(({ msg }) => msg);

  test("is sent back with every answer, an error's and a stream's too, and made when the client gives none", async () => {
    const idOf = async (answer: Promise<{ headers: Headers }>) => (await answer).headers.get("x-request-id");
    const headers = { "x-request-id": "client-1" };
    for (const answer of [
      callApi(`${service.url}/healthz`, { headers }),
      callApi(`${service.url}/nowhere`, { headers }),
      postJson(`${service.url}/api/v1/chat`, "{", headers),
      postTurn(service.url, turn(), { headers }),
    ]) {
      expect(await idOf(answer)).toBe("client-1");
    }
    expect(await idOf(callApi(`${service.url}/nowhere`))).toMatch(UUID);
    expect(await idOf(callApi(`${service.url}/nowhere`, { headers: { "x-request-id": "two words" } }))).toMatch(UUID);
  });

  test("stands in the lines of its turn, done or failed, beside the turn's own, and nothing that was said does", async () => {
    const done = await postTurn(service.url, turn("my Zwiebelkuchen"), { headers: { "x-request-id": "good" } });
    model.answer({ status: 401 });
    const failed = await postTurn(service.url, turn("your Zwiebelkuchen"), { headers: { "x-request-id": "bad" } });
    await waitUntil("both lines", () => linesOf("bad").length === 2);
    expect(linesOf("good")).toEqual(["turn done", "request ended"]);
    expect(linesOf("bad")).toEqual(["turn failed", "request ended"]);
    const turns = lines.filter(({ msg, request_id }) => /^turn/.test(String(msg)) && ["good", "bad"].includes(String(request_id)));
    expect(turns.map(({ turn_id }) => turn_id)).toEqual([done, failed].map(({ headers }) => headers.get("x-turn-id")));
    expect(JSON.stringify(lines)).not.toContain("Zwiebelkuchen");
  });

  test("is in no line of a job, which belongs to no request", async () => {
    model.answer({ tokens: ["well"] });
    await postTurn(service.url, turn(), { headers: { "x-request-id": "with-a-job" } });
    await waitUntil("a job", () => lines.some(({ msg }) => msg === "job ran"));
    const jobs = lines.filter(({ msg }) => String(msg).startsWith("job "));
    expect(jobs.filter((line) => "request_id" in line)).toEqual([]);
  });

  test("keeps apart what runs side by side", async () => {
    const ids = Array.from({ length: 8 }, (_, index) => `side-${index}`);
    await Promise.all(ids.map((id) => postTurn(service.url, { ...turn(), user_id: id }, { headers: { "x-request-id": id } })));
    await waitUntil("all lines", () => ids.every((id) => linesOf(id).length === 2));
    for (const id of ids) expect(linesOf(id)).toEqual(["turn done", "request ended"]);
  });
});
