import { expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { makeCoreMemoryStore } from "../../../stores/postgres/memory/core-memory-store.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { type ChatRequestBody, type ModelScript, startModelServer } from "../../servers/model-server.ts";
import { killServiceProcesses } from "../../servers/service-process.ts";
import { treeExpectations } from "../../stores/postgres/conversations/expect-tree.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { storesOf } from "../../support/databases/describe-stores.ts";
import { useOpened } from "../../support/use-opened.ts";
import { fruitIn, killedStep, makeKilledGrower } from "./tree-kills.ts";
import { openTwoPlaces } from "./two-places.ts";

/** Sequences of about thirty steps. */
const SEQUENCES = Number(process.env["TREE_KILLS"] ?? 2);
jest.setTimeout(SEQUENCES * 300_000 + 60_000);

const SUMMARY_MODEL = "test-summary";
const MEMORY_MODEL = "test-memory";

/** A memory model that writes each fruit that it reads: those it knows already, and those of new turns. */
function rememberFruits({ messages }: ChatRequestBody): ModelScript {
  if (messages.at(-1)?.role === "tool") return { tokens: ["done"] };
  const fruits = new Set(JSON.stringify(messages.at(-1)?.content).match(/fruit\d+q/g));
  const content = [...fruits].map((fruit) => `Likes ${fruit}.`).join("\n");
  return { toolCalls: [{ name: "core_memory_update", arguments: { section: "preferences", content, reason: "said so" } }] };
}

const opened = useOpened(async () => {
  const { url, drop } = await createRealDatabase();
  const model = await startModelServer({ keepSeen: false });
  const database = await openPostgres(url);
  const environment = {
    ...{
      OPENAI_BASE_URL: model.url,
      SUMMARY_MODEL,
      MEMORY_MODEL,
      ENABLE_SUMMARY: "true",
      ENABLE_CORE_MEMORY: "true",
      TURN_LEASE_MS: "1000",
    },
    ...{ SUMMARY_MIN_MESSAGES: "4", SUMMARY_UPDATE_DELTA: "2", HISTORY_WINDOW: "2" },
  };
  const places = await openTwoPlaces(url, environment);
  return {
    ...{ database, model, places },
    close: () =>
      places
        .close()
        .then(killServiceProcesses)
        .then(() => database.close())
        .then(() => model.close())
        .then(drop),
  };
});

test(`two processes and a plain tree in memory agree after ${SEQUENCES} sequences of random steps, even when one process is killed at any statement`, async () => {
  const { database, model, places } = opened;
  const stores = storesOf(database);
  await fc.assert(
    fc.asyncProperty(fc.array(killedStep, { minLength: 25, maxLength: 35, size: "max" }), async (steps) => {
      let script = {};
      model.answer((body) => {
        if (body.model === MEMORY_MODEL) return rememberFruits(body);
        return body.model === SUMMARY_MODEL ? { tokens: ["They talked of fruit."] } : { tokens: ["Noted."], ...script };
      });
      const { tree, owner, doStep, settle } = makeKilledGrower(places, database, (next) => (script = next));
      for (const step of steps) await doStep(step);
      await settle();
      const expectSame = treeExpectations(stores, tree, owner);
      for (const talk of tree.talks) {
        await expectSame.paths(talk);
        await expectSame.summary(talk);
      }
      await expectSame.exchanges();
      const known = (await makeCoreMemoryStore(database).load(owner)).sections.map(({ content }) => content).join("\n");
      await expectSame.facts((question) => known.includes(fruitIn(question)));
    }),
    { numRuns: SEQUENCES, endOnFailure: true },
  );
  process.stderr.write(`${JSON.stringify(places.at)}\n`);
  const kills = Object.values(places.at).reduce((sum, count) => sum + count, 0);
  expect(kills).toBeGreaterThan(SEQUENCES * 3);
});
