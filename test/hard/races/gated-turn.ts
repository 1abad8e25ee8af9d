import { expect } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { type ConversationState, uncoveredMessages } from "../../../turn/state.ts";
import type { SummarySettings } from "../../../memory/summary/summary-due.ts";
import { makeHistory } from "../../../nodes/history.ts";
import { jobsAfterTurn } from "../../../nodes/persist.ts";
import { type JobQueue, makeJobQueue } from "../../../stores/jobs/job-queue.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { type FinishOutcome, makeTurnStore, type TurnStore } from "../../../stores/postgres/conversations/turn-store.ts";
import { makeWindowStore } from "../../../stores/postgres/conversations/window-store.ts";
import { type Gate, makeGate } from "./gate.ts";
import { makeGatedDatabase } from "./gated-database.ts";
import { EXPIRED_LEASE_MS } from "../../support/samples/sample-turns.ts";
import { completedMarks, marksIn, readStoredMemory } from "./stored-memory.ts";

/** How the answer of a turn ends: whole, cut short, or before its first token. */
export type AnswerKind = "complete" | "partial" | "none";

export interface TurnTold {
  question: string;
  answer: string;
  kind: AnswerKind;
  /** Its place among those that have begun; null when the user's message was not stored. */
  begunAs: number | null;
  /** It has read its window. */
  read: boolean;
  /** Statements that took: more than one when the summary leaves less than the window's size. */
  windowReads: number;
  /** Then, what ends the turn was committed, whether it heard of that or not. */
  finished: boolean;
  /** What it heard of its end. */
  outcome: FinishOutcome | null;
  /** What went wrong that never may. */
  wrong: unknown;
}

export interface Talk {
  tenantId: string;
  userId: string;
  sessionId: string;
  conversationId: string;
}

/** Places in the order in which turns begin, from 0. */
export interface TurnOrder {
  nextPlace: () => number;
  latestPlace: () => number;
}

/** Where turns run, one at a time, as in a process of its own. */
export interface GatedTurnSlot {
  gate: Gate;
  queue: JobQueue;
  /** Starts the next turn; it rests when it has ended. */
  start(talk: Talk, told: TurnTold, settings: SummarySettings, order: TurnOrder): Promise<void>;
}

/** Longer than any of these turns: a renewal would come to the gate by the clock and not by the driver. */
const NO_RENEWAL_MS = 3_600_000;

/** As often as persist tries, without its pauses. */
const FINISH_TRIES = 5;

/** The stores and nodes of a turn in their order; only the graph between them and the model are left out. */
export function makeGatedTurnSlot(database: Database): GatedTurnSlot {
  let onEffect: (name: string) => void = () => undefined;
  const gate = makeGate((name) => onEffect(name));
  const gated = makeGatedDatabase(database, gate);
  const queue = makeJobQueue(gated);
  const store = makeTurnStore(gated, queue);
  /** The lease has run out as soon as it is given, so that any other turn may take over. */
  const turns: TurnStore = { ...store, begin: (turn) => store.begin({ ...turn, leaseMs: EXPIRED_LEASE_MS }) };
  const windows = makeWindowStore(gated);

  /**
   * What the model would be given covers every completed message, each once. Only the current one is left out, unless the turn has lost
   * its conversation for so long that the summary covers it.
   */
  async function expectNoBlindSpot({ conversationId }: Talk, state: ConversationState): Promise<void> {
    const stored = await readStoredMemory(database, conversationId);
    const covered = marksIn(state.conversationSummary?.text ?? "");
    const leftOut = covered.includes(state.message) ? null : state.message;
    const uncovered = uncoveredMessages(state.recentMessages, state.conversationSummary).map(({ content }) => content);
    expect([...covered, ...uncovered]).toEqual(completedMarks(stored).filter((mark) => mark !== leftOut));
  }

  async function run(talk: Talk, told: TurnTold, settings: SummarySettings, latestPlace: () => number): Promise<void> {
    const { historyWindow } = settings;
    const parts = { turns, windows, historyWindow, tokenBudget: 1e6, useSummary: true, leaseMs: NO_RENEWAL_MS };
    const history = makeHistory({ ...parts, episodes: null, scope: "user" });
    const asked = { ...talk, message: told.question } as ConversationState;
    const state = { ...asked, ...(await history(asked, {})) } as ConversationState;
    told.read = true;
    // Between two reads others may have been heard: then what it has is of neither moment, and its answer is not kept as complete.
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
    for (let tries = 1; told.outcome === null && tries <= FINISH_TRIES; tries++) {
      told.outcome = await turns.finish({ ...talk, turnId }, toStore || null, jobs).catch(() => null);
    }
  }

  return {
    gate,
    queue,
    start(talk, told, settings, { nextPlace, latestPlace }) {
      gate.revive();
      onEffect = (name) => {
        if (name === "turn-begin") told.begunAs = nextPlace();
        if (name === "window-newest") told.windowReads++;
        if (name === "turn-finish" || name === "transaction") told.finished = told.read;
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
