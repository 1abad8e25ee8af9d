import { describe, expect, test } from "@jest/globals";
import { AppError } from "../../errors/app-error.ts";
import type { ConversationState } from "../../turn/state.ts";
import { makeHistory, type HistoryParts } from "../../nodes/history.ts";
import type { Recallable } from "../../stores/postgres/memory/episode-store.ts";
import { makeFakeTurnStore } from "./fake-turn-store.ts";

const NOTHING: Recallable = { elsewhere: false, isSummarised: false };
const STATE = { tenantId: "tenant", userId: "ada", sessionId: "s", message: "Where did I park?" } as ConversationState;

describe("history", () => {
  /** A turn that begins only when `letIn` is called. */
  function waitingTurn(look: () => Promise<Recallable>, parts: Partial<HistoryParts> = {}) {
    const begun = Promise.withResolvers<{ conversationId: string; messageId: string }>();
    const finished: string[] = [];
    const foreseen: string[] = [];
    const history = makeHistory({
      turns: makeFakeTurnStore({
        begin: () => begun.promise,
        finish: async ({ conversationId }) => {
          finished.push(conversationId);
          return "stored";
        },
      }),
      windows: { load: async () => ({ summary: null, messages: [], isWhole: true, lastErasure: null }) },
      historyWindow: 6,
      tokenBudget: 1_000,
      useSummary: true,
      episodes: { checkRecallable: look },
      scope: "user",
      foresee: (question) => void foreseen.push(question),
      leaseMs: 1_000,
      ...parts,
    });
    return {
      foreseen,
      finished,
      read: Promise.resolve(history(STATE, {})),
      letIn: () => begun.resolve({ conversationId: "c", messageId: "m" }),
    };
  }

  test.each<[string, Recallable, boolean, Partial<HistoryParts>]>([
    ["the user has episodes in other conversations", { ...NOTHING, elsewhere: true }, true, {}],
    ["the conversation has a summary", { ...NOTHING, isSummarised: true }, false, {}],
    ["it has one, and others are not recalled", { elsewhere: true, isSummarised: true }, false, { scope: "conversation" }],
  ])("says what will be searched for before the turn has begun when %s", async (_, look, hasEpisodes, parts) => {
    const turn = waitingTurn(async () => look, parts);
    await new Promise(setImmediate);
    expect(turn.foreseen).toEqual([STATE.message]);
    turn.letIn();
    expect(await turn.read).toMatchObject({ hasEpisodes });
  });

  test.each<[string, Recallable, Partial<HistoryParts>]>([
    ["there is nothing to recall", NOTHING, {}],
    ["summaries are switched off", { ...NOTHING, isSummarised: true }, { useSummary: false }],
    ["only other conversations have episodes, and these are not recalled", { ...NOTHING, elsewhere: true }, { scope: "conversation" }],
  ])("foresees nothing when %s", async (_, look, parts) => {
    const turn = waitingTurn(async () => look, parts);
    turn.letIn();
    expect(await turn.read).toMatchObject({ hasEpisodes: false });
    expect(turn.foreseen).toEqual([]);
  });

  test("gives the conversation back when the look fails, whichever comes first", async () => {
    const broken = new AppError("internal_error", "broken");
    const turn = waitingTurn(() => Promise.reject(broken));
    await new Promise(setImmediate);
    turn.letIn();
    await expect(turn.read).rejects.toBe(broken);
    expect(turn.finished).toEqual(["c"]);
  });

  test("looks and loads again while Postgres is away, because the message is stored by then", async () => {
    const away = () => Promise.reject(new AppError("storage_unavailable", "away"));
    const looks = [away, () => Promise.resolve({ ...NOTHING, elsewhere: true })];
    const turn = waitingTurn(() => (looks.shift() as () => Promise<Recallable>)());
    turn.letIn();
    expect(await turn.read).toMatchObject({ conversationId: "c", hasEpisodes: true });
    expect(turn.finished).toEqual([]);
  });
});
