import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { runMemoryJobs } from "../../memory/run-memory-jobs.ts";
import { jobsAfterTurn } from "../../memory/jobs-after-turn.ts";
import type { JobRun } from "../../memory/jobs/run-jobs.ts";
import type { SummarySettings } from "../../memory/summary/summarise-conversation.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { describeOnBothDatabases } from "../support/databases/databases.ts";
import { addJobs, sampleJob, useJobs } from "../support/samples/sample-jobs.ts";
import { idOf, sampleWindow, summaryThrough, timeAt, windowMessage } from "../support/samples/sample-window.ts";
import { type ConversationState, uncoveredMessages } from "../../turn/state.ts";
import { waitUntil } from "../support/wait-until.ts";

const JOBS = 8;

describeOnBothDatabases("the jobs of memory", (open) => {
  const jobs = useJobs(open);

  /** The most things that jobs ask the database for at a time, when they were added so long ago. */
  async function mostAtOnce(addedAgo: string): Promise<number> {
    const { database, queue } = jobs;
    let [asking, most] = [0, 0];
    const counted = async <Result>(ask: () => Promise<Result>): Promise<Result> => {
      most = Math.max(most, ++asking);
      await sleep(10); // the embedded database answers before the event loop goes on
      return ask().finally(() => asking--);
    };
    const watched: Database = {
      ...database,
      query: (statement) => counted(() => database.query(statement)),
      transaction: (work) => counted(() => database.transaction(work)),
    };
    await addJobs(queue, ...Array.from({ length: JOBS }, () => sampleJob()));
    await database.query({
      text: `update pgboss.job set created_on = now() - interval '${addedAgo}', start_after = now() - interval '${addedAgo}'`,
    });
    const runs: JobRun[] = [];
    const running = await runMemoryJobs({ database: watched, summaryModel: null, concurrency: JOBS, onRun: (run) => void runs.push(run) });
    await waitUntil("all jobs have run", () => runs.length === JOBS);
    await running.stop(1_000);
    return most;
  }

  test("ask an embedded database for one thing at a time unless they are late, and another for several", async () => {
    const most = await mostAtOnce("0 seconds");
    if (jobs.database.isEmbedded) expect(most).toBe(1);
    else expect(most).toBeGreaterThan(1);
    expect(await mostAtOnce("4 seconds")).toBeGreaterThan(1);
  });
});

const SETTINGS: SummarySettings = { minMessages: 10, updateDelta: 5, historyWindow: 6 };
const IDS = { tenantId: "tenant", userId: "user", conversationId: "conversation" };

/** The jobs after a turn with a complete answer, unless `fields` say otherwise. */
function jobsAfter(fields: Partial<ConversationState>, settings: SummarySettings | null = SETTINGS, layers = {}) {
  const ending = { answer: "an answer", partialAnswer: false, conversationSummary: null, recentMessages: [], windowIsWhole: true };
  return jobsAfterTurn({ summary: settings, ...layers }, { ...IDS, ...ending, ...fields } as unknown as ConversationState);
}

const UP_TO_30 = Array.from({ length: 31 }, (_, length) => length);

describe("jobsAfterTurn", () => {
  test.each<[string, number, Partial<ConversationState>, Partial<SummarySettings>]>([
    ["without a summary: when the turn makes the messages minMessages", 8, {}, {}],
    ["with minMessages less than the window: when there is a message before the window", 5, {}, { minMessages: 3 }],
    ["with 4 messages covered: when updateDelta more lie before the window", 13, { conversationSummary: summaryThrough(4) }, {}],
    ["with 16 messages covered, into which the window reaches back", 25, { conversationSummary: summaryThrough(16) }, {}],
    ["with a window that is not whole: always", 0, { windowIsWhole: false }, {}],
  ])("asks for a summary %s, from %i earlier messages on", (_when, first, fields, settings) => {
    const due = UP_TO_30.filter(
      (length) => jobsAfter({ recentMessages: sampleWindow(length), ...fields }, { ...SETTINGS, ...settings }).length > 0,
    );
    expect(due).toEqual(UP_TO_30.slice(first));
  });

  test("asks by ids alone, so that nothing that was said is in a job", () => {
    expect(jobsAfter({ recentMessages: sampleWindow(8), message: "a secret" })).toEqual([{ kind: "summarise", ...IDS }]);
  });

  test("asks for no summary when summaries are switched off", () => {
    expect(jobsAfter({ recentMessages: sampleWindow(50), windowIsWhole: false }, null)).toEqual([]);
  });

  test("asks for nothing after a turn without a complete answer, and for the episode and the memory agent where these layers are on", () => {
    const kinds = (fields: Partial<ConversationState>, layers: object) => jobsAfter(fields, null, layers).map(({ kind }) => kind);
    for (const fields of [{ answer: "half an ans", partialAnswer: true }, { answer: "", partialAnswer: true }, { answer: "" }])
      expect(jobsAfter({ recentMessages: sampleWindow(50), windowIsWhole: false, ...fields }, SETTINGS, { episodes: true })).toEqual([]);
    expect(kinds({}, { episodes: true, coreMemory: true })).toEqual(["index_episodes", "remember"]);
    expect(kinds({}, { episodes: true })).toEqual(["index_episodes"]);
    expect(kinds({ partialAnswer: true }, { episodes: true, coreMemory: true })).toEqual([]);
  });
});

test("property: the messages that a summary does not cover are those behind its cover point, by time, then by id", () => {
  expect(uncoveredMessages(sampleWindow(4), null)).toEqual(sampleWindow(4));
  const anyPlaces = fc.uniqueArray(fc.tuple(fc.nat(5), fc.nat(5)), { selector: ([time, id]) => time * 10 + id });
  fc.assert(
    fc.property(anyPlaces, fc.nat(5), (places, through) => {
      const window = places
        .toSorted(([time, id], [otherTime, otherId]) => time - otherTime || id - otherId)
        .map(([time, id]) => windowMessage("user", `${time}/${id}`, { id: idOf(id), createdAt: timeAt(time) }));
      const covered = places.filter(([time, id]) => time < through || (time === through && id <= through)).length;
      expect(uncoveredMessages(window, summaryThrough(through))).toEqual(window.slice(covered));
    }),
  );
});
