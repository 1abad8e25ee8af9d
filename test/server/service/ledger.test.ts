import { beforeAll, describe, expect, test } from "@jest/globals";
import { startEmbeddingServer } from "../../servers/embedding-server.ts";
import { startModelServer } from "../../servers/model-server.ts";
import { type ExecutedStatement, startCountingProxy } from "../../servers/counting-proxy.ts";
import { listConversations, listMessages, postJson, putJson } from "../../support/clients/api-client.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { readMetrics } from "../../support/clients/read-metrics.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { conversationApi } from "../../support/services/service-with-episodes.ts";
import { openTestService } from "../../support/services/service.ts";
import { useOpened } from "../../support/use-opened.ts";

/** The service as it is built, with every layer, on a Postgres whose traffic is counted. */
async function openCountedService() {
  await using opened = new AsyncDisposableStack();
  const database = await createRealDatabase();
  opened.defer(() => database.drop());
  const proxy = await startCountingProxy(database.url);
  opened.defer(() => proxy.close());
  const [model, embeddings] = await Promise.all([startModelServer(), startEmbeddingServer()]);
  opened.defer(async () => void (await Promise.all([model.close(), embeddings.close()])));
  const service = await openTestService({
    DATABASE_URL: proxy.url,
    OPENAI_BASE_URL: model.url,
    CHAT_MODEL: "test-chat",
    ENABLE_CORE_MEMORY: "true",
    ENABLE_EPISODIC_MEMORY: "true",
    EMBEDDING_MODEL: "test-embedding",
    EMBEDDING_BASE_URL: embeddings.url,
    TITLE_MODEL: "",
  });
  opened.defer(() => service.close());
  const everything = opened.move();
  return { proxy, model, embeddings, url: service.url, close: () => everything.disposeAsync() };
}

/** Statements that look for work or wait for it, and what limits and costs write some seconds later: not of one turn. */
const NOT_OF_A_TURN = /^(?:$|job-(?:claim|hasten|touch|count|oldest)|usage-|model-|index-find)/;

/** Times and numbers have more digits or fewer, so bytes are rounded. */
const toKilobytes = (bytes: number): number => Math.round(bytes / 1_000);

function sumOf(executed: readonly ExecutedStatement[]) {
  const ofTurn = executed.filter(({ name }) => !NOT_OF_A_TURN.test(name));
  const sum = (of: "rows" | "sent" | "received"): number => ofTurn.reduce((total, statement) => total + statement[of], 0);
  return { statements: ofTurn.length, rows: sum("rows"), kB: [toKilobytes(sum("sent")), toKilobytes(sum("received"))] };
}

describe("the ledger of a turn with every layer", () => {
  const opened = useOpened(openCountedService);
  let api: ReturnType<typeof conversationApi>;

  /** What a request and then its jobs do. A number that rises must be explained where it is changed. */
  async function count(ask: () => Promise<{ id: string; frames: number }>) {
    const nodes = async (): Promise<number> =>
      [...(await readMetrics(opened.url)).samples].reduce(
        (sum, [key, value]) => sum + (key.includes("node_duration_seconds_count") ? value : 0),
        0,
      );
    const nodesBefore = await nodes();
    opened.proxy.take();
    opened.model.seen.length = 0;
    opened.embeddings.seen.length = 0;
    const { id, frames } = await ask();
    const foreground = sumOf(opened.proxy.take());
    const calls = { models: opened.model.seen.length, embeddings: opened.embeddings.seen.length };
    const nodesRun = (await nodes()) - nodesBefore;
    await api.settle(id);
    const behind = {
      statements: sumOf(opened.proxy.take()).statements,
      models: opened.model.seen.length - calls.models,
      embeddings: opened.embeddings.seen.length - calls.embeddings,
    };
    return { ...foreground, ...calls, nodes: nodesRun, frames, behind };
  }

  async function stream(sessionId: string, message: string, fields: object = {}): Promise<{ id: string; frames: number }> {
    const { events } = await postTurn(opened.url, { user_id: "ada", session_id: sessionId, message, ...fields });
    const { conversation_id: id, degraded } = contentOf(events, "done");
    expect(degraded).toEqual([]);
    return { id, frames: events.length };
  }

  beforeAll(async () => {
    api = conversationApi(opened.url);
    await putJson(`${opened.url}/api/v1/knowledge/trips`, { description: "Trips by train" });
    await putJson(`${opened.url}/api/v1/agents/counter`, { description: "Counts", tools: ["calculate"] });
    await postJson(`${opened.url}/api/v1/knowledge/trips/documents`, { title: "Trains", text: "The train to Lisbon leaves at nine." });
    opened.model.answer({ tokens: ["One ", "two."] });
    // The first turns of a process prepare statements and look things up once.
    for (const session of ["warm", "warmer"]) {
      await api.settle((await stream(session, "I booked a table in Porto.")).id);
      await api.settle((await stream(session, "Which train goes to Lisbon?", { kb_prefix: "trips" })).id);
      await api.settle((await stream(session, "Count it.", { agent: "counter" })).id);
    }
  });

  test("holds what the first turn of a conversation does", async () => {
    expect(await count(() => stream("first", "I booked a table in Lisbon for eight."))).toEqual({
      statements: 7,
      rows: 10,
      kB: [7, 7],
      models: 2,
      embeddings: 1,
      nodes: 6,
      frames: 4,
      behind: { statements: 12, models: 1, embeddings: 1 },
    });
  });

  test("holds what a later turn does", async () => {
    await api.settle((await stream("later", "I booked a table in Faro.")).id);
    await api.settle((await stream("later", "It has a view of the sea.")).id);
    expect(await count(() => stream("later", "When is the table in Faro?"))).toEqual({
      statements: 11,
      rows: 15,
      kB: [8, 9],
      models: 2,
      embeddings: 2,
      nodes: 6,
      frames: 4,
      behind: { statements: 12, models: 1, embeddings: 1 },
    });
  });

  test("holds what the last of three quick turns does, and one job of each kind behind them", async () => {
    await api.settle((await stream("quick", "I like plums.")).id);
    await stream("quick", "I like pears.");
    await stream("quick", "I like grapes.");
    expect(await count(() => stream("quick", "I like figs."))).toEqual({
      statements: 6,
      rows: 6,
      kB: [4, 5],
      models: 2,
      embeddings: 1,
      nodes: 6,
      frames: 4,
      behind: { statements: 12, models: 3, embeddings: 1 },
    });
  });

  test("holds what a turn with a knowledge base does", async () => {
    expect(await count(() => stream("trips", "When does the train to Lisbon leave?", { kb_prefix: "trips" }))).toEqual({
      statements: 12,
      rows: 14,
      kB: [7, 8],
      models: 1,
      embeddings: 1,
      nodes: 6,
      frames: 4,
      behind: { statements: 12, models: 1, embeddings: 1 },
    });
  });

  test("holds what a turn of an agent with two calls does", async () => {
    opened.model.answer(({ messages, tools }) => {
      const called = messages.filter(({ role }) => role === "tool").length;
      if (!tools || called === 2) return { tokens: ["Done."] };
      return { toolCalls: [{ name: "calculate", arguments: { expression: `${called}+1` }, id: `call_${called}` }] };
    });
    expect(await count(() => stream("sums", "Count to two.", { agent: "counter" }))).toEqual({
      // Besides the steps: what another process needs to go on, three times.
      statements: 19,
      rows: 22,
      kB: [14, 10],
      models: 3,
      embeddings: 1,
      nodes: 6,
      frames: 7,
      behind: { statements: 16, models: 3, embeddings: 1 },
    });
    opened.model.answer({ tokens: ["One ", "two."] });
  });

  test("holds what an edit of an earlier message does", async () => {
    const { id } = await stream("edited", "I booked a table in Braga.");
    await api.settle(id);
    const [asked] = await listMessages(opened.url, id);
    expect(await count(() => stream("edited", "I booked a room in Braga.", { edit_of: asked?.id }))).toEqual({
      statements: 21,
      rows: 23,
      kB: [10, 12],
      models: 2,
      embeddings: 1,
      nodes: 6,
      frames: 4,
      behind: { statements: 16, models: 1, embeddings: 1 },
    });
  });

  test("holds what a turn by OpenAI's protocol does", async () => {
    const ask = async (): Promise<{ id: string; frames: number }> => {
      const response = await fetch(`${opened.url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-session-id": "openai" },
        body: JSON.stringify({
          model: "conversation-graph",
          stream: true,
          user: "ada",
          messages: [{ role: "user", content: "A table in Evora." }],
        }),
      });
      const text = await response.text();
      expect(response.status).toBe(200);
      const [newest] = await listConversations(opened.url, "ada");
      return { id: newest?.id ?? "", frames: text.split("\n\n").filter((frame) => frame.startsWith("data:")).length };
    };
    expect(await count(ask)).toEqual({
      // Recall fills its room: the texts of ten exchanges more, and their places in the receipt.
      statements: 13,
      rows: 32,
      kB: [13, 14],
      models: 2,
      embeddings: 1,
      nodes: 6,
      frames: 5,
      behind: { statements: 12, models: 1, embeddings: 1 },
    });
  });
});
