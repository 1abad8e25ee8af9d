import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createDataFolder } from "../servers/data-folder.ts";
import { startEmbeddingServer } from "../servers/embedding-server.ts";
import { BIN, startFile } from "../support/run-script.ts";
import { freePort } from "../servers/free-port.ts";
import { openTestService } from "../support/services/service.ts";
import { killServiceProcesses, spawnService, startServiceProcess } from "../servers/service-process.ts";
import { callApi, type ListedMessage } from "../support/clients/api-client.ts";
import { conversationApi, importedTurns, type ShownEpisode } from "../support/services/service-with-episodes.ts";
import { useOpened } from "../support/use-opened.ts";
import { waitUntil } from "../support/wait-until.ts";

const TURNS = 300;

describe("npm run reindex", () => {
  let folder: string;
  let remove: () => Promise<void>;
  const embedder = useOpened(startEmbeddingServer);
  beforeEach(async () => {
    ({ folder, remove } = await createDataFolder());
    embedder.answer({});
    embedder.seen.splice(0);
  });
  afterEach(async () => {
    await killServiceProcesses();
    await remove();
  });

  const withServer = (): Record<string, string> => ({
    DATA_DIR: folder,
    EMBEDDING_BASE_URL: embedder.url,
    EMBEDDING_MODEL: "test-embed",
    EMBEDDING_DIMENSIONS: "4",
  });

  const reindex = () => startFile([BIN, "reindex"], withServer());

  /** A conversation of 300 turns, indexed with the built-in embedder. */
  async function fill(): Promise<void> {
    const service = await openTestService({ DATA_DIR: folder, ENABLE_EPISODIC_MEMORY: "true" });
    const messages = importedTurns(Array.from({ length: TURNS }, (_, number) => [`My secret number ${number} is kept.`, "Good."] as const));
    const { bring, settle } = conversationApi(service.url);
    expect(await settle((await bring("ada", messages)).conversation_id, {}, 60_000)).toMatchObject({ settled: true });
    await service.close();
  }

  async function search(environment: Record<string, string>): Promise<{ episodes: ShownEpisode[]; degraded: string[] }> {
    const service = await startServiceProcess({ MEMORY_READ_TIMEOUT_MS: "10000", ...environment });
    const { json } = await conversationApi(service.url).episodes("ada", { query: "secret number 217" });
    service.kill("SIGTERM");
    await service.exited;
    return json;
  }

  test("says that an empty database has nothing to index, and the service starts on it", async () => {
    const { code, stdout, stderr } = await reindex().ended;
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\n0 episodes indexed, /) });
    expect(await search(withServer())).toEqual({ episodes: [], degraded: [], next: null });
  });

  test("is what a service with another embedder asks for, and after it the service starts and nothing is lost", async () => {
    await fill();
    const service = spawnService({ PORT: String(await freePort()), ...withServer() });
    expect(await service.exited).toBe(1);
    expect(service.output()).toMatch(/Episodes are indexed with built-in.* but the configuration asks for test-embed.*npm run reindex/);

    const { code, stdout, stderr } = await reindex().ended;
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: expect.stringContaining(`${TURNS} episodes indexed, test-embed`) });
    expect(stderr).toContain(`100 %  ${TURNS} of ${TURNS} turns`);
    const { episodes, degraded } = await search(withServer());
    expect({ first: episodes[0]?.user_message, degraded }).toEqual({ first: "My secret number 217 is kept.", degraded: [] });
    const back = spawnService({ PORT: String(await freePort()), DATA_DIR: folder });
    expect(await back.exited).toBe(1);
  });

  test("takes the thoughts out of stored answers, says how many there were, and indexes the rest", async () => {
    const said = importedTurns([["Where do I live?", "<think>The user lives in Linz.</think>\n\nYou have not told me."]]);
    const service = await openTestService({ DATA_DIR: folder });
    const { conversation_id: id } = await conversationApi(service.url).bring("ada", said);
    await service.close();
    const { code, stdout } = await reindex().ended;
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Thoughts taken out of what is stored. Answers: 1, summaries: 0.\n"),
    });
    expect(embedder.seen.flatMap(({ input }) => input)).toEqual(["Where do I live?\nYou have not told me."]);
    const again = await openTestService({ DATA_DIR: folder });
    const { json } = await callApi<{ messages: ListedMessage[] }>(`${again.url}/api/v1/conversations/${id}/messages?user_id=ada`);
    await again.close();
    expect(json.messages.map(({ content }) => content)).toEqual(["Where do I live?", "You have not told me."]);
    expect((await reindex().ended).stdout).not.toContain("Thoughts");
  });

  test("leaves the old index at work when it is interrupted, and goes on from there the next time", async () => {
    await fill();
    let texts = 0;
    const count = (text: string): number[] => {
      if (++texts === 128) embedder.answer({ ending: "silent" });
      return [text.length, 1, -2, 0.5];
    };
    embedder.answer({ vectorOf: count });
    const first = reindex();
    await waitUntil("the third request", () => embedder.seen.length >= 3);
    first.interrupt();
    const interrupted = await first.ended;
    expect(interrupted).toMatchObject({ code: 1, stderr: expect.stringContaining(`128 of ${TURNS} turns`) });
    expect(interrupted.stderr).not.toMatch(/^\s+at |node_modules/m);
    expect((await search({ DATA_DIR: folder })).episodes[0]?.user_message).toBe("My secret number 217 is kept.");

    embedder.answer({});
    embedder.seen.splice(0);
    const second = await reindex().ended;
    expect(second.stdout).toContain(`${TURNS} episodes in all, resumed where it was interrupted`);
    expect(second.code).toBe(0);
    expect(embedder.seen.flatMap(({ input }) => input)).toHaveLength(TURNS - 128);
    expect((await search(withServer())).episodes[0]?.user_message).toBe("My secret number 217 is kept.");
  });
});
