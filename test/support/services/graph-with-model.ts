import { beforeEach, expect } from "@jest/globals";
import type { ConversationGraph } from "../../../graph/build-graph.ts";
import { type ConversationGraphParts, createConversationGraph } from "../../../graph/create-conversation-graph.ts";
import { createOpenAIChatModel } from "../../../models/openai-chat-model.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { type RunningTurn, startTurn, type TurnOptions } from "../../../graph/start-turn.ts";
import type { TurnInput } from "../../../turn/turn-input.ts";
import type { TurnEvent } from "../../../turn/events.ts";
import { storesOf } from "../databases/describe-stores.ts";
import { openTestEmbedded } from "../databases/databases.ts";
import { type ModelServer, startModelServer } from "../../servers/model-server.ts";
import { sampleTurn } from "../samples/sample-turns.ts";
import { useOpened } from "../use-opened.ts";

export type Talk = ReturnType<typeof makeTalk>;

export type GraphWithModel = Awaited<ReturnType<typeof openGraphWithModel>>;

export async function eventsOf(turn: RunningTurn): Promise<TurnEvent[]> {
  const events: TurnEvent[] = [];
  for await (const event of turn.events()) events.push(event);
  return events;
}

/** Opens one for all tests of the block around it; before each the model has seen nothing and answers "Hi there." */
export function useGraphWithModel(defaults: Partial<ConversationGraphParts> = {}): GraphWithModel {
  const opened = useOpened(() => openGraphWithModel(defaults));
  beforeEach(() => {
    opened.server.answer({ tokens: ["Hi ", "there."] });
    opened.server.seen.length = 0;
  });
  return opened;
}

/** Opens an embedded database and a model server; `defaults` go into every graph. */
export async function openGraphWithModel(defaults: Partial<ConversationGraphParts> = {}) {
  const database = await openTestEmbedded();
  const server = await startModelServer();
  const chatModel = createOpenAIChatModel({ model: "test-chat", baseUrl: server.url });
  const makeGraph = (parts: Partial<ConversationGraphParts> = {}): ConversationGraph =>
    createConversationGraph({ database, chatModel, coreMemory: null, ...defaults, ...parts });
  return {
    database,
    server,
    makeGraph,
    /** A user and a session of their own. */
    makeTalk: (graph = makeGraph()) => makeTalk(database, server, graph),
    lastPrompt(): { system: string; others: string[] } {
      const [system, ...others] = server.seen.at(-1)?.body.messages ?? [];
      expect(system?.role).toBe("system");
      return { system: system?.content ?? "", others: others.map(({ content }) => content) };
    },
    async close(): Promise<void> {
      await server.close();
      await database.close();
    },
  };
}

function makeTalk(database: Database, server: ModelServer, graph: ConversationGraph) {
  const { tenantId, userId, sessionId } = sampleTurn({ userId: crypto.randomUUID() });
  const input = { tenantId, userId, sessionId };
  const stores = storesOf(database);
  const start = (message: string, options?: TurnOptions): RunningTurn =>
    startTurn(graph, { ...input, message } satisfies TurnInput, options);
  return {
    input,
    start,
    say: (message: string) => start(message).ended,
    async hang(message = "Hello!") {
      server.answer({ tokens: ["half "], ending: "hang" });
      const turn = start(message);
      for await (const event of turn.events()) if (event.status === "token") return turn;
      throw new Error("the turn ended without a token");
    },
    async stored() {
      const text = "select id from conversations where tenant_id = $1 and user_id = $2 and session_id = $3";
      const [conversation] = await database.query<{ id: string }>({ text, values: [tenantId, userId, sessionId] });
      return conversation ? stores.messagesOf({ ...input, conversationId: conversation.id }) : [];
    },
    /** Whether another turn can be begun; if so, one has been. */
    isFree: async () => (await stores.turns.begin(sampleTurn(input))) !== null,
  };
}
