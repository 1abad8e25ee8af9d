import { beforeAll, describe, expect, test } from "@jest/globals";
import { createConversationGraph } from "../../graph/create-conversation-graph.ts";
import { startTurn } from "../../graph/start-turn.ts";
import { openEpisodicMemory } from "../../memory/episodes/open-episodic-memory.ts";
import { runMemoryJobs } from "../../memory/run-memory-jobs.ts";
import { waitUntilSettled } from "../../memory/jobs/wait-until-settled.ts";
import { OfflineChatModel } from "../../models/offline/offline-chat-model.ts";
import { makeJobOverview } from "../../stores/jobs/job-overview.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { makeKnowledgeBaseStore } from "../../stores/postgres/knowledge/knowledge-base-store.ts";
import { makeCoreMemoryStore } from "../../stores/postgres/memory/core-memory-store.ts";
import { openPostgresSearchStore } from "../../stores/search/postgres/open-postgres-search-store.ts";
import { openTestEmbedded } from "../support/databases/databases.ts";
import { recordStatements } from "../support/databases/record-statements.ts";
import { makeRecordingEmbedder } from "../support/samples/recording-embedder.ts";
import { useOpened } from "../support/use-opened.ts";

const ADA = { tenantId: "tenant", userId: "ada" };
const NEVER_MS = 3_600_000;

/** A graph with every layer; its statements are recorded by name, those of pg-boss' own care of its queues left out. */
async function openRecordedGraph() {
  const embedded = await openTestEmbedded();
  const recorded = recordStatements(embedded);
  const { statements } = recorded;
  const database: Database = {
    ...recorded.database,
    transaction: (work) => {
      statements.push({ name: "begin", text: "" });
      return recorded.database.transaction(work).finally(() => statements.push({ name: "commit", text: "" }));
    },
  };
  const store = await openPostgresSearchStore(database);
  const memory = await openEpisodicMemory({ database, store, embedder: makeRecordingEmbedder() });
  const knowledge = makeKnowledgeBaseStore(database);
  const graph = createConversationGraph({ database, chatModel: new OfflineChatModel(), knowledge, episodes: { recall: memory.recall } });
  async function namesDuring(work: () => Promise<unknown>): Promise<string[]> {
    statements.length = 0;
    await work();
    return statements
      .flatMap(({ name = "other" }) => (/^(other|job-claim-\d+)$/.test(name) ? [] : [name.replace(/-[0-9a-f]{16}$/, "")]))
      .sort();
  }
  return {
    database: embedded,
    /** The conversation and the names of the turn's statements. */
    async say(message: string, sessionId: string) {
      let conversationId = "";
      const names = await namesDuring(async () => {
        const turn = startTurn(graph, { ...ADA, sessionId, message });
        expect(await turn.ended).toMatchObject({ status: "done", content: { degraded: [] } });
        ({ conversationId } = await turn.accepted);
      });
      return { conversationId, names };
    },
    settle: (conversationId: string) =>
      namesDuring(async () => {
        const running = await runMemoryJobs({ database, summaryModel: null, episodicMemory: memory, pollMs: NEVER_MS });
        const conversation = { ...ADA, conversationId };
        expect(await waitUntilSettled({ overview: makeJobOverview(embedded), conversation, timeoutMs: 20_000 })).toBe(0);
        await running.stop(1_000);
      }),
    close: () => embedded.close(),
  };
}

describe("a turn with every layer", () => {
  const opened = useOpened(openRecordedGraph);
  let [before, behind]: string[][] = [];

  beforeAll(async () => {
    await makeKnowledgeBaseStore(opened.database).put("tenant", { prefix: "trips", description: "trains", keywords: ["train"] });
    await makeCoreMemoryStore(opened.database).put(ADA, { section: "profile", content: "Name: Ada" });
    for (const sessionId of ["monday", "tuesday"]) {
      const { conversationId } = await opened.say("A table for two in Lisbon, please.", sessionId);
      await opened.settle(conversationId);
    }
    const { conversationId, names } = await opened.say("What was it about the table in Lisbon?", "tuesday");
    before = names;
    behind = await opened.settle(conversationId);
  });

  test("makes just the known statements before and with its answer", () => {
    expect(before).toEqual([
      "core-memory-load+episode-look-before+knowledge-list",
      "episode-load",
      "search-vectors",
      "search-words",
      "turn-begin",
      "turn-finish",
    ]);
  });

  test("makes just the known statements after its answer, apart from the claims of jobs", () => {
    expect(behind).toEqual([
      "core-memory-list",
      "episode-advance",
      "episode-backlog",
      "episode-settle",
      "episode-stored",
      "index-known",
      "search-upsert",
      "section-versions",
      "unread-move-alone",
      "unread-next",
      "unread-settle",
    ]);
  });
});
