import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { callApi, postJson } from "../support/clients/api-client.ts";
import { createRealDatabase } from "../support/databases/databases.ts";
import { killServiceProcesses, startServiceProcess } from "../servers/service-process.ts";
import { TIMES, twentyTimes } from "./twenty-times.ts";

const BIN = fileURLToPath(new URL("../../dist/scripts/conversation-graph.js", import.meta.url));

describe("the command of the package, twenty times in a row", () => {
  let real: Awaited<ReturnType<typeof createRealDatabase>>;
  beforeAll(async () => {
    real = await createRealDatabase();
  });
  afterEach(() => killServiceProcesses());
  afterAll(() => real.drop());

  /** Starts the service, says something, tells it to stop, and returns how many messages its conversation has. */
  async function serveOnce(): Promise<number> {
    const service = await startServiceProcess({ DATABASE_URL: real.url }, BIN);
    const api = `${service.url}/api/v1`;
    const { status } = await postJson(`${api}/chat`, { user_id: "ada", session_id: "s", message: "Hello!" });
    expect(status).toBe(200);
    const { json } = await callApi<{ conversations: { message_count: number }[] }>(`${api}/conversations?user_id=ada`);
    service.kill("SIGTERM");
    expect({ code: await service.exited, output: service.output() }).toEqual({ code: 0, output: expect.stringContaining('"stopped"') });
    return json.conversations[0]?.message_count ?? 0;
  }

  test("tells its help, migrates, and serves one conversation on and on, with exit code 0 each time", async () => {
    const counted: number[] = [];
    await Promise.all([
      twentyTimes([BIN, "--help"], {}, /^conversation-graph \d+\.\d+\.\d+: .*`reindex .*`restore FILE`/s),
      twentyTimes([BIN, "migrate"], { DATABASE_URL: real.url }, /: nothing to do\n$/),
      (async () => {
        for (let time = 1; time <= TIMES; time++) counted.push(await serveOnce());
      })(),
    ]);
    expect(counted).toEqual(Array.from({ length: TIMES }, (_, time) => 2 * (time + 1)));
  }, 600_000);
});
