import { mkdtemp, readdir, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { callApi, postJson } from "../support/clients/api-client.ts";
import { createDataFolder } from "../servers/data-folder.ts";
import { createRealDatabase } from "../support/databases/databases.ts";
import { importedTurns, type ImportedBody, type ShownEpisode } from "../support/services/service-with-episodes.ts";
import { openTestService } from "../support/services/service.ts";
import { runFile, script, TIMES, twentyTimes } from "./twenty-times.ts";

describe("twenty times in a row", () => {
  let opened: AsyncDisposableStack;
  beforeEach(() => {
    opened = new AsyncDisposableStack();
  });
  afterEach(() => opened.disposeAsync());

  test("export writes what a running service has by then, and restore brings it back into an empty database", async () => {
    const real = await createRealDatabase();
    opened.defer(() => real.drop());
    const service = await openTestService({ DATABASE_URL: real.url });
    opened.defer(() => service.close());
    const folder = await mkdtemp(path.join(os.tmpdir(), "conversation-graph-exports-"));
    opened.defer(() => rm(folder, { recursive: true }));
    for (let time = 1; time <= TIMES; time++) {
      const { status } = await postJson(`${service.url}/api/v1/chat`, { user_id: "ada", session_id: "s", message: `Message ${time}` });
      expect(status).toBe(200);
      const file = path.join(folder, `${time}.jsonl.gz`);
      const exported = await runFile([script("export"), file], { DATABASE_URL: real.url });
      expect(exported).toEqual({ code: 0, printed: expect.stringMatching(/\n\d+ rows of .*\.jsonl\.gz, /) });
      const empty = await createRealDatabase();
      const restored = await runFile([script("restore"), file], { DATABASE_URL: empty.url }).finally(() => empty.drop());
      expect(restored).toEqual({ code: 0, printed: expect.stringMatching(new RegExp(`\\nmessages: ${2 * time}\\n`)) });
    }
    expect(await readdir(folder)).toHaveLength(TIMES);
  }, 600_000);

  test("reindex builds the index of a data folder anew, and the service that opens it finds what was said", async () => {
    const { folder, remove } = await createDataFolder();
    opened.defer(remove);
    const environment = { DATA_DIR: folder, ENABLE_EPISODIC_MEMORY: "true", EMBEDDING_MODEL: "built-in" };
    const before = await openTestService(environment);
    const messages = importedTurns([["My boat is called Calypso.", "Noted."]]);
    const conversations = `${before.url}/api/v1/conversations`;
    const { json } = await postJson<ImportedBody>(`${conversations}/import`, { user_id: "ada", session_id: "s", messages });
    await callApi(`${conversations}/${json.conversation_id}/settle?timeout_ms=50000`, { method: "POST" });
    await before.close();
    await twentyTimes([script("reindex")], environment, /\n1 episodes indexed, built-in/);
    const after = await openTestService({ ...environment, MEMORY_READ_TIMEOUT_MS: "10000" });
    opened.defer(() => after.close());
    const found = await callApi<{ episodes: ShownEpisode[] }>(`${after.url}/api/v1/users/ada/episodes?query=boat`);
    expect(found.json).toMatchObject({ episodes: [{ user_message: "My boat is called Calypso." }], degraded: [] });
  }, 600_000);
});
