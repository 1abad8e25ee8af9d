import { beforeEach, describe, expect, test } from "@jest/globals";
import { FACTS } from "./fault-stage.ts";
import { callApi, postJson } from "../../support/clients/api-client.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { startEmbeddingServer, type EmbeddingScript } from "../../servers/embedding-server.ts";
import { killServiceProcesses, startServiceProcess } from "../../servers/service-process.ts";
import { openServiceWithEpisodes } from "../../support/services/service-with-episodes.ts";
import { useOpened } from "../../support/use-opened.ts";
import { waitUntil } from "../../support/wait-until.ts";

const READ_TIMEOUT_MS = 1_000;
const EMBEDDING_TIMEOUT_MS = 8_000;

describe("turns whose recall needs an embedder", () => {
  const embedder = useOpened(startEmbeddingServer);
  const running = useOpened(() =>
    openServiceWithEpisodes({
      EMBEDDING_BASE_URL: embedder.url,
      EMBEDDING_MODEL: "test-embed",
      EMBEDDING_DIMENSIONS: "4",
      EMBEDDING_QUERY_PREFIX: "question: ",
      MEMORY_READ_TIMEOUT_MS: String(READ_TIMEOUT_MS),
      MODEL_FIRST_TOKEN_TIMEOUT_MS: String(EMBEDDING_TIMEOUT_MS),
    }),
  );
  beforeEach(() => {
    embedder.answer({});
    embedder.seen.splice(0);
  });

  const questions = (): string[] =>
    embedder.seen.flatMap(({ input }) => input.filter((text) => text.startsWith("question: "))).map((text) => text.slice(10));

  test.each<[string, EmbeddingScript]>([
    ["refuses", { status: 401 }],
    ["stops in the middle", { ending: "stall" }],
    ["sends vectors of another length", { vectorOf: () => [1, 2] }],
  ])("go on in time by keywords when it %s, and what they said is found once it is back", async (name, script) => {
    const user = `ada ${name}`;
    const { conversation_id: imported } = await running.bring(user, FACTS);
    expect(await running.settle(imported)).toMatchObject({ settled: true });
    const isWhole = async () => (await running.episodes(user, { query: "director" })).json.degraded.length === 0;
    await waitUntil("the circuit is closed after the trouble of the test before", isWhole);

    embedder.answer(script);
    const during = await running.say(user, "Which director do I like? I wear a purple hat.", "during");
    expect(during).toMatchObject({ completed: true, degraded: ["episodic"] });
    expect(during.timings.nodes["retrieve"]).toBeLessThan(EMBEDDING_TIMEOUT_MS - READ_TIMEOUT_MS);
    expect(during.receipt.episodes.length).toBeGreaterThan(0);
    expect(running.model.seen.at(-1)?.body.messages.at(-1)?.content).toContain("Agnès Varda");

    await waitUntil("the job has asked in vain", () =>
      embedder.seen.some(({ input }) => input.some((text) => text.includes("I wear a purple hat.\nre: "))),
    );
    embedder.answer({});
    expect(await running.settle(during.conversation_id)).toEqual({ settled: true, pending: 0 });
    const { json } = await running.episodes(user, { query: "purple hat" });
    // The order means nothing: the server's vectors do not depend on the words.
    expect(json.episodes.map(({ user_message }) => user_message)).toContainEqual(expect.stringContaining("purple hat"));
  });

  test("cost one embedding of the question, and none while the user has no episode outside the window", async () => {
    const first = await running.say("newcomer", "The first thing I say.", "one");
    await running.settle(first.conversation_id);
    await running.say("newcomer", "The second thing I say.", "one");
    expect(questions().filter((text) => text.includes("thing I say"))).toEqual([]);
    await running.say("newcomer", "The third thing I say.", "two");
    expect(questions().filter((text) => text.includes("thing I say"))).toEqual(["The third thing I say."]);
  });
});

test("a service on a Postgres without pgvector recalls, and names its level of search at the start and in its status", async () => {
  const database = await createRealDatabase();
  const service = await startServiceProcess({ DATABASE_URL: database.url, ENABLE_EPISODIC_MEMORY: "true" });
  expect(service.output()).toContain("without pgvector: vectors are compared one by one, 20,000 of a user or a knowledge base at most");
  const { json } = await callApi(`${service.url}/api/v1/status`);
  expect(json).toMatchObject({ search_level: "plain" });
  const first = await postTurn(service.url, { user_id: "ada", session_id: "s", message: "My favourite film is Solaris." });
  await postJson(`${service.url}/api/v1/conversations/${contentOf(first.events, "done").conversation_id}/settle`, {});
  const found = await callApi(`${service.url}/api/v1/users/ada/episodes?query=favourite%20film`);
  expect(found.json).toMatchObject({ degraded: [], episodes: [{ user_message: expect.stringContaining("Solaris") }] });
  await killServiceProcesses();
  await database.drop();
});
