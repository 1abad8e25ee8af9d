import { describe, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { createRealDatabase, openTestEmbedded } from "../../support/databases/databases.ts";
import { makeInterleavingStage, type Interleaving, type Step } from "./interleaving.ts";

const INTERLEAVINGS = Number(process.env["INTERLEAVINGS"] ?? 1_000);
const ON_EMBEDDED = Math.ceil(INTERLEAVINGS / 25);
const LANES = 3;
const ON_LANE = Math.ceil((INTERLEAVINGS - ON_EMBEDDED) / LANES);
jest.setTimeout(60_000 + INTERLEAVINGS * 100);

const anyStep: fc.Arbitrary<Step> = fc.record({
  who: fc.constantFrom("turn_one", "turn_one", "turn_two", "worker_one", "worker_one", "worker_two", "worker_two", "jobs_come_back"),
  gates: fc.integer({ min: 1, max: 5 }),
  ending: fc.constantFrom("done", "done", "done", "done", "fails_before", "fails_after", "dies_before", "dies_after"),
  answer: fc.constantFrom("complete", "complete", "complete", "partial", "none"),
});

const step = (who: Step["who"], gates: number): Step => ({ who, gates, ending: "done", answer: "complete" });

/** Two workers have the same job: rare, and what most can go wrong with. */
const ONE_JOB_CLAIMED_TWICE = [
  step("turn_one", 3),
  step("turn_one", 3),
  step("worker_one", 1),
  step("jobs_come_back", 1),
  step("worker_two", 1),
];

/** A turn that has lost its lease, and whose process dies before it ends without it. */
const DIES_OVERTAKEN: Interleaving = {
  settings: { minMessages: 3, updateDelta: 2, historyWindow: 2, stepTokens: 1_000 },
  history: [true, true],
  steps: [step("turn_one", 2), { ...step("turn_two", 1), ending: "fails_after" }, { ...step("turn_one", 1), ending: "dies_after" }],
};

const anyInterleaving: fc.Arbitrary<Interleaving> = fc.record({
  settings: fc.constantFrom(
    { minMessages: 3, updateDelta: 2, historyWindow: 2, stepTokens: 1_000 },
    { minMessages: 3, updateDelta: 1, historyWindow: 1, stepTokens: 2 },
    { minMessages: 2, updateDelta: 1, historyWindow: 0, stepTokens: 1 },
    { minMessages: 5, updateDelta: 2, historyWindow: 3, stepTokens: 2 },
  ),
  history: fc.array(fc.boolean(), { maxLength: 6 }),
  steps: fc
    .tuple(fc.constantFrom([], [], ONE_JOB_CLAIMED_TWICE), fc.array(anyStep, { minLength: 3, maxLength: 10, size: "max" }))
    .map(([beginning, rest]) => [...beginning, ...rest]),
});

async function playMany(database: Database, numRuns: number): Promise<void> {
  const stage = await makeInterleavingStage(database);
  let versions = 0;
  await fc.assert(
    fc.asyncProperty(anyInterleaving, async (interleaving) => {
      versions += await stage.play(interleaving);
    }),
    { numRuns, examples: [[DIES_OVERTAKEN]] },
  );
  expect(versions).toBeGreaterThan(numRuns); // or else too little of it happens in them
}

describe("no completed message is lost or counted twice, and no wake-up is lost, whatever two turns and two workers do, fail or die between,", () => {
  test(`in ${ON_EMBEDDED} random interleavings on the embedded database`, async () => {
    const database = await openTestEmbedded();
    await playMany(database, ON_EMBEDDED).finally(() => database.close());
  });

  test(`in ${LANES * ON_LANE} random interleavings on real Postgres`, async () => {
    const lane = async (): Promise<void> => {
      const { url, drop } = await createRealDatabase();
      const database = await openPostgres(url);
      await playMany(database, ON_LANE).finally(() => database.close().then(drop));
    };
    const ended = await Promise.allSettled(Array.from({ length: LANES }, lane));
    for (const result of ended) if (result.status === "rejected") throw result.reason;
  });
});
