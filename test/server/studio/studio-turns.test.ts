import { MemorySaver } from "@langchain/langgraph";
import { beforeAll, describe, expect, test } from "@jest/globals";
import type { ConversationGraph } from "../../../graph/create-conversation-graph.ts";
import type { ConversationState } from "../../../turn/state.ts";
import type { TurnOutcome } from "../../../turn/outcome.ts";
import { toTurnInput } from "../../../server/studio-input.ts";
import { openGraphWithModel } from "../../support/services/graph-with-model.ts";
import { useOpened } from "../../support/use-opened.ts";

/** What differs from turn to turn and says nothing of the one before. */
const OF_EACH_TURN = ["turnId", "sessionId", "conversationId", "currentMessageId", "messages", "recentMessages", "timings"];

describe("a turn of a thread in Studio that has had a turn before", () => {
  const opened = useOpened(() => openGraphWithModel());
  let graph: ConversationGraph;
  beforeAll(async () => {
    graph = opened.makeGraph();
    graph.checkpointer = new MemorySaver();
  });

  async function run(thread: string, input: object): Promise<{ state: ConversationState; outcome: TurnOutcome }> {
    const turn = toTurnInput(input, { id: thread, earlier: {} }, 100);
    const state = await graph.invoke(turn, { configurable: { thread_id: thread } });
    const text = "select outcome from turns where id = $1";
    const [row] = await opened.database.query<{ outcome: TurnOutcome }>({ text, values: [state.turnId] });
    return { state, outcome: row?.outcome ?? ({} as TurnOutcome) };
  }
  const withoutIds = (state: ConversationState): object =>
    Object.fromEntries(
      Object.entries(state).filter(([field, value]) => !OF_EACH_TURN.includes(field) && !field.endsWith("Ms") && value !== undefined),
    );

  test.each([
    ["asks for a knowledge base that is not there", { message: "Hello", requestedKbPrefix: "nowhere" }, {}],
    ["the model refuses", { message: "Hello" }, { status: 400 }],
  ])("that %s tells in state and outcome what a first turn of its kind tells", async (_kind, input, script) => {
    const thread = crypto.randomUUID();
    opened.server.answer({});
    expect((await run(thread, { message: "My boat is called Calypso." })).outcome.usage).not.toBeNull();
    opened.server.answer(script);
    const [later, first] = [await run(thread, input), await run(crypto.randomUUID(), input)];
    expect(first.outcome.completed).toBe(false);
    const { usage, receipt, degraded, error } = later.outcome;
    const isUnanswered = first.outcome.usage === null;
    expect({ usage: usage === null, receipt: receipt === null, degraded, error }).toEqual({
      usage: isUnanswered,
      receipt: isUnanswered,
      degraded: first.outcome.degraded,
      error: first.outcome.error,
    });
    if (isUnanswered) expect(withoutIds(later.state)).toEqual(withoutIds(first.state));
  });
});
