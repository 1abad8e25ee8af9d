import { expect } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { isSummaryDue } from "../../../memory/summary/summarise-conversation.ts";
import { DEAD_LETTERS, QUEUE } from "../../../stores/postgres/database/pg-boss.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { makeWindowStore } from "../../../stores/postgres/turns/window-store.ts";
import { makeGatedTurnSlot, type AnswerKind, type Talk, type TurnTold } from "./gated-turn.ts";
import { makeGatedWorker, type WorkerSettings } from "./gated-worker.ts";
import type { Ending, Gate } from "./gate.ts";
import { completedMarks, expectCoveredOnce, expectForward, readStoredMemory, type StoredMemory } from "./stored-memory.ts";

/** One choice of the driver. `who` goes on for `gates` statements, of which the last ends with `ending`. */
export interface Step {
  /** `jobs_come_back`: every claim is taken for that of a dead process, and delays are over. */
  who: "turn_one" | "turn_two" | "worker_one" | "worker_two" | "jobs_come_back";
  gates: number;
  ending: Ending;
  answer: AnswerKind;
}

export type Interleaving = { settings: WorkerSettings; history: boolean[]; steps: Step[] };

const MOST_STATEMENTS_TO_REST = 300;

const PREFILL = `
with conversation as (
  insert into conversations (id, tenant_id, user_id, session_id, message_count, last_message_at, created_at, updated_at)
  values ($1, $2, $3, $4, 0, now() - interval '1 hour', now() - interval '1 hour', now())
)
insert into messages (id, conversation_id, role, content, completed, token_count, created_at)
select gen_random_uuid(), $1, 'user', 'old' || place, completed, 1, now() - interval '1 day' + place * interval '1 minute'
from unnest($5::boolean[]) with ordinality as given (completed, place)`;
const COME_BACK = `update pgboss.job set state = 'retry', start_after = now() - interval '1 second' where name = '${QUEUE}' and state in ('active', 'retry')`;
/** A turn's jobs wait for further turns. */
const NOW_DUE = `update pgboss.job set start_after = now() - interval '1 second' where name = '${QUEUE}' and state = 'created'`;
const COUNT_JOBS = `select count(*)::int as count from pgboss.job where name = '${QUEUE}' and state <= 'active'`;
const ERASE = `
with jobs as (delete from pgboss.job where name in ('${QUEUE}', '${DEAD_LETTERS}'))
delete from conversations where id = $1`;

/** Two turns and two workers on a database of their own. */
export async function makeInterleavingStage(database: Database) {
  const turns = { turn_one: makeGatedTurnSlot(database), turn_two: makeGatedTurnSlot(database) };
  const workers = { worker_one: makeGatedWorker(database), worker_two: makeGatedWorker(database) };
  const processes = [...Object.values(turns), ...Object.values(workers)];
  const gates = processes.map(({ gate }) => gate);
  const windows = makeWindowStore(database);
  for (const { queue } of processes) await queue.transaction(async () => undefined); // pg-boss' one look at its queues

  async function play({ settings, history, steps }: Interleaving, talk: Talk): Promise<number> {
    const { conversationId } = talk;
    const told: TurnTold[] = [];
    let places = 0;
    const order = { nextPlace: () => places++, latestPlace: () => places - 1 };
    let stored: StoredMemory = await readStoredMemory(database, conversationId);

    async function look(): Promise<void> {
      const now = await readStoredMemory(database, conversationId);
      expectForward(stored, now);
      expectCoveredOnce(now, settings);
      stored = now;
      for (const { wrong } of told) if (wrong !== null) throw wrong;
    }

    async function goOn(gate: Gate, count: number, ending: Ending): Promise<void> {
      for (let left = count; left > 0; left--) {
        const name = gate.waiting();
        if (name === null) return;
        await gate.open(left === 1 ? ending : "done");
        if (name === "summary-save") await look();
      }
    }

    async function startTurn(who: keyof typeof turns, kind: AnswerKind): Promise<void> {
      const next = told.length;
      const turn = { question: `q${next}`, answer: `a${next}`, kind };
      told.push({ ...turn, begunAs: null, read: false, windowReads: 0, finished: false, outcome: null, wrong: null });
      await turns[who].start(talk, told.at(-1) as TurnTold, settings, order);
    }

    async function wakeWorker(who: keyof typeof workers): Promise<void> {
      await database.query({ name: "test-now-due", text: NOW_DUE });
      await (workers[who].isRunning() ? workers[who].wake() : workers[who].start(settings));
    }

    async function take({ who, gates: count, ending, answer }: Step): Promise<void> {
      if (who === "jobs_come_back") return void (await database.query({ name: "test-come-back", text: COME_BACK }));
      if (who === "turn_one" || who === "turn_two") {
        if (turns[who].gate.waiting() === null) await startTurn(who, answer);
        return goOn(turns[who].gate, count, ending);
      }
      if (workers[who].gate.waiting() === null) await wakeWorker(who);
      return goOn(workers[who].gate, count, ending);
    }

    async function comeToRest(): Promise<void> {
      for (const gate of gates) await goOn(gate, MOST_STATEMENTS_TO_REST, "done");
      for (let looks = 0; ; looks++) {
        const [jobs] = await database.query<{ count: number }>({ name: "test-count-jobs", text: COUNT_JOBS });
        if (jobs?.count === 0) break;
        if (looks > 3) throw new Error(`jobs are left when everything is quiet: ${jobs?.count}`);
        await database.query({ name: "test-come-back", text: COME_BACK });
        await wakeWorker("worker_one");
        await goOn(workers.worker_one.gate, MOST_STATEMENTS_TO_REST, "done");
      }
      expect(gates.map((gate) => gate.waiting())).toEqual(gates.map(() => null));
      await look();
    }

    const isDueUpTo = (mark: string | undefined): boolean => {
      const marks = completedMarks(stored);
      const end = mark === undefined ? marks.length : marks.lastIndexOf(mark) + 1;
      return isSummaryDue(settings, { hasSummary: stored.summary !== null, uncovered: end - (stored.summary?.count ?? 0) });
    };

    /** A turn without a complete answer wakes nobody; the next one with an answer counts its question, too. */
    function expectNothingDue(): void {
      const marks = completedMarks(stored);
      const answered = told.filter(({ finished, answer }) => finished && marks.includes(answer));
      const last = answered.toSorted((one, other) => (one.begunAs ?? -1) - (other.begunAs ?? -1)).at(-1);
      if (last) expect({ dueUpTo: last.answer, isDue: isDueUpTo(last.answer) }).toEqual({ dueUpTo: last.answer, isDue: false });
    }

    function expectTold(): void {
      const completed = completedMarks(stored);
      for (const { answer, kind, outcome } of told) {
        const isComplete = kind === "complete" && outcome === "stored";
        if (outcome !== null) expect({ answer, isComplete: completed.includes(answer) }).toEqual({ answer, isComplete });
      }
    }

    expect(completedMarks(stored)).toHaveLength(history.filter(Boolean).length);
    for (const step of steps) await take(step);
    await comeToRest();
    expectNothingDue();
    expectTold();
    if (isDueUpTo(undefined)) {
      await startTurn("turn_one", "complete");
      await comeToRest();
      expect(isDueUpTo(undefined)).toBe(false);
    }
    const everything = { exceptMessageId: uuidv7(), atLeast: settings.historyWindow, maxTokens: 1e6, useSummary: true };
    const window = await windows.load({ ...talk, ...everything });
    const uncovered = completedMarks(stored).slice(stored.summary?.count ?? 0);
    expect(window.messages.map(({ content }) => content)).toEqual(uncovered);
    return stored.summary?.version ?? 0;
  }

  return {
    /** Throws when anything that must hold does not. Leaves nothing behind. Returns how many versions of the summary there were. */
    async play(interleaving: Interleaving): Promise<number> {
      const talk = { tenantId: "tenant", userId: "user", sessionId: uuidv7(), conversationId: uuidv7() };
      const { conversationId, tenantId, userId, sessionId } = talk;
      const completed = interleaving.history.map(String);
      await database.query({ name: "test-prefill", text: PREFILL, values: [conversationId, tenantId, userId, sessionId, completed] });
      for (const gate of gates) gate.set("guarded");
      try {
        return await play(interleaving, talk);
      } finally {
        for (const gate of gates) gate.set("closed");
        await Promise.all(Object.values(workers).map((worker) => worker.stop()));
        await new Promise((resolve) => setImmediate(resolve));
        await database.query({ name: "test-erase", text: ERASE, values: [conversationId] });
      }
    },
  };
}
