import { describe, expect, test } from "@jest/globals";
import { AppError } from "../../errors/app-error.ts";
import { makeHistory, type HistoryParts } from "../../nodes/history.ts";
import type { Recallable } from "../../stores/postgres/memory/episode-store.ts";
import type { ConversationState } from "../../turn/state.ts";
import { makeFakeTurnStore } from "./fake-turn-store.ts";

const STATE = { tenantId: "tenant", userId: "ada", sessionId: "s", message: "Where did I park?" } as ConversationState;

/** A turn that begins only when `letIn` is called. */
function waitingTurn(checkRecallable: () => Promise<Recallable>, parts: Partial<HistoryParts> = {}) {
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
    episodes: { checkRecallable },
    scope: "user",
    foresee: (question) => void foreseen.push(question),
    leaseMs: 1_000,
    ...parts,
  });
  const letIn = () => begun.resolve({ conversationId: "c", messageId: "m" });
  return { foreseen, finished, read: Promise.resolve(history(STATE, {})), letIn };
}

describe("history", () => {
  const [elsewhere, isSummarised] = [true, true];
  test.each<[string, Partial<Recallable>, Partial<HistoryParts>, boolean, boolean]>([
    ["the user has episodes in other conversations", { elsewhere }, {}, true, true],
    ["the conversation has a summary", { isSummarised }, {}, true, false],
    ["it has one, and other conversations are not recalled", { elsewhere, isSummarised }, { scope: "conversation" }, true, false],
    ["there is nothing to recall", {}, {}, false, false],
    ["summaries are switched off", { isSummarised }, { useSummary: false }, false, false],
    ["only other conversations have episodes, and these are not recalled", { elsewhere }, { scope: "conversation" }, false, false],
  ])("when %s, foresees what will be searched before the turn has begun", async (_, look, parts, isForeseen, hasEpisodes) => {
    const turn = waitingTurn(async () => ({ elsewhere: false, isSummarised: false, ...look }), parts);
    await new Promise(setImmediate);
    expect(turn.foreseen).toEqual(isForeseen ? [STATE.message] : []);
    turn.letIn();
    expect(await turn.read).toMatchObject({ hasEpisodes });
  });

  test("releases the conversation when the look fails, whichever comes first", async () => {
    const broken = new AppError("internal_error", "broken");
    const turn = waitingTurn(() => Promise.reject(broken));
    await new Promise(setImmediate);
    turn.letIn();
    await expect(turn.read).rejects.toBe(broken);
    expect(turn.finished).toEqual(["c"]);
  });

  test("looks and loads again while Postgres is unreachable, because the message is stored by then", async () => {
    const away = () => Promise.reject(new AppError("storage_unavailable", "away"));
    const looks = [away, () => Promise.resolve({ elsewhere: true, isSummarised: false })];
    const turn = waitingTurn(() => (looks.shift() as () => Promise<Recallable>)());
    turn.letIn();
    expect(await turn.read).toMatchObject({ conversationId: "c", hasEpisodes: true });
    expect(turn.finished).toEqual([]);
  });
});
