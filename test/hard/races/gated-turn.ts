import { expect } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { type ConversationState, uncoveredMessages } from "../../../turn/state.ts";
import type { SummarySettings } from "../../../memory/summary/summarise-conversation.ts";
import { makeHistory } from "../../../nodes/history.ts";
import { makeQuestionStore } from "../../../stores/postgres/agents/question-store.ts";
import { makePictureStore } from "../../../stores/postgres/conversations/picture-store.ts";
import { jobsAfterTurn } from "../../../memory/jobs-after-turn.ts";
import { makeJobQueue } from "../../../stores/jobs/job-queue.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { type FinishOutcome, makeTurnStore, type TurnStore } from "../../../stores/postgres/turns/turn-store.ts";
import { makeTurnRecordStore } from "../../../stores/postgres/turns/turn-record-store.ts";
import { makeWindowStore } from "../../../stores/postgres/turns/window-store.ts";
import { makeGate, makeGatedDatabase } from "./gate.ts";
import { EXPIRED_LEASE_MS } from "../../support/samples/sample-turns.ts";
import { completedMarks, marksIn, readStoredMemory } from "./stored-memory.ts";

export type AnswerKind = "complete" | "partial" | "none";

export interface TurnTold {
  question: string;
  answer: string;
  kind: AnswerKind;
  /** Its place in the order of begun turns, from 0; null when the user's message was not stored. */
  begunAs: number | null;
  read: boolean;
  windowReads: number;
  /** The end was committed, acknowledged or not. */
  finished: boolean;
  outcome: FinishOutcome | null;
  wrong: unknown;
}

export type Talk = { tenantId: string; userId: string; sessionId: string; conversationId: string };

type TurnOrder = { nextPlace: () => number; latestPlace: () => number };

/** Longer than any of these turns: a renewal would come to the gate by the clock and not by the driver. */
const NO_RENEWAL_MS = 3_600_000;

/** As in persist, without its pauses. */
const FINISH_TRIES = 5;

export function makeGatedTurnSlot(database: Database) {
  let onEffect: (name: string) => void = () => undefined;
  const gate = makeGate((name) => onEffect(name));
  const gated = makeGatedDatabase(database, gate);
  const queue = makeJobQueue(gated);
  const store = makeTurnStore(gated, queue);
  /** Leases expire at once, so that any other turn may take over. */
  const turns: TurnStore = { ...store, begin: (turn) => store.begin({ ...turn, leaseMs: EXPIRED_LEASE_MS }) };
  const records = makeTurnRecordStore(gated);
  const windows = makeWindowStore(gated);

  /** The prompt covers every completed message once, but for the current one, which the summary may cover when the turn lost its lease. */
  async function expectNoBlindSpot({ conversationId }: Talk, state: ConversationState): Promise<void> {
    const stored = await readStoredMemory(database, conversationId);
    const covered = marksIn(state.conversationSummary?.text ?? "");
    const leftOut = covered.includes(state.message) ? null : state.message;
    const uncovered = uncoveredMessages(state.recentMessages, state.conversationSummary).map(({ content }) => content);
    expect([...covered, ...uncovered]).toEqual(completedMarks(stored).filter((mark) => mark !== leftOut));
  }

  async function run(talk: Talk, told: TurnTold, settings: SummarySettings, latestPlace: () => number): Promise<void> {
    const { historyWindow } = settings;
    const parts = {
      turns,
      records,
      questions: makeQuestionStore(gated),
      windows,
      pictures: makePictureStore(gated),
      historyWindow,
      tokenBudget: () => 1e6,
      useSummary: true,
      leaseMs: NO_RENEWAL_MS,
    };
    const history = makeHistory({ ...parts, episodes: null, scope: "user" });
    const asked = { ...talk, message: told.question, pictures: [] as unknown[] } as ConversationState;
    const state = { ...asked, ...(await history(asked, {})) } as ConversationState;
    told.read = true;
    // Another turn began between two reads: the window is of neither moment, and this answer is not stored as complete.
    const isOvertaken = told.windowReads > 1 && told.begunAs !== latestPlace();
    if (!isOvertaken) await expectNoBlindSpot(talk, state).catch((error: unknown) => void (told.wrong = error));

    const { turnId } = state;
    const answer = told.kind === "none" ? "" : told.answer;
    const partialAnswer = told.kind !== "complete";
    const jobs = jobsAfterTurn({ summary: settings }, { ...state, answer, partialAnswer });
    const toStore = answer && {
      messageId: uuidv7(),
      content: answer,
      completed: !partialAnswer,
      tokenCount: 1,
      metadata: { turn_id: turnId },
    };
    for (let tries = 1; told.outcome === null && tries <= FINISH_TRIES; tries++)
      told.outcome = await turns.finish({ ...talk, turnId }, toStore || null, jobs).catch(() => null);
  }

  return {
    gate,
    queue,
    start(talk: Talk, told: TurnTold, settings: SummarySettings, { nextPlace, latestPlace }: TurnOrder): Promise<void> {
      gate.revive();
      onEffect = (name) => {
        if (name === "turn-begin") told.begunAs = nextPlace();
        if (name === "window-newest") told.windowReads++;
        // Without its lease a turn does not end with the first statement, but with the transaction behind it.
        if (name === "transaction" || (name === "turn-finish" && told.begunAs === latestPlace())) told.finished = told.read;
      };
      return gate.untilQuiet(
        () =>
          void run(talk, told, settings, latestPlace)
            .catch(() => undefined)
            .then(() => gate.rest()),
      );
    },
  };
}
