import { afterEach, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { v7 as uuidv7 } from "uuid";
import { toExchanges } from "../../../stores/postgres/conversations/exchanges.ts";
import { storesOf } from "../../support/databases/describe-stores.ts";
import { describeOnBothDatabases } from "../../support/databases/databases.ts";
import { openTestEpisodicMemory } from "../../support/services/episodic-memory.ts";
import { completeTurn, sampleAnswer, sampleTurn } from "../../support/samples/sample-turns.ts";
import { decided, endOf } from "../../support/samples/sample-reading.ts";
import { useOpened } from "../../support/use-opened.ts";
import type { MessageToImport } from "../../../stores/postgres/conversations/plan-import.ts";

const HOUR_MS = 60 * 60 * 1_000;

const anyStep = fc.record({
  what: fc.oneof(
    // One part of the messages, in the order of these numbers.
    fc.record({
      bring: fc.nat(3),
      order: fc.array(fc.nat(20), { maxLength: 12 }),
      within: fc.constantFrom("nothing" as const, "index" as const, "read" as const),
    }),
    fc.constantFrom("index" as const, "read" as const, "turn" as const, "cut" as const),
  ),
  skew: fc.integer({ min: -3, max: 3 }),
});
/** Minute null: without a time. Several have the same. */
const anyMessages = fc.array(
  fc.record({
    role: fc.constantFrom("user" as const, "assistant" as const),
    minute: fc.option(fc.nat(4), { freq: 6 }),
    part: fc.nat(3),
  }),
  { maxLength: 12 },
);

describeOnBothDatabases("any imports in any order and any parts, among turns,", (open) => {
  const memory = useOpened(async () => openTestEpisodicMemory(await open()));
  afterEach(() => void jest.restoreAllMocks());

  test("put each completed message in one episode in the end, and have what the user said read once", async () => {
    await fc.assert(
      fc.asyncProperty(anyMessages, fc.array(anyStep, { maxLength: 12 }), async (messages, steps) => {
        const owner = { tenantId: "tenant", userId: uuidv7() };
        const { turns, imports, unread } = storesOf(memory.database);
        const read: string[] = [];
        const partOf = (part: number): MessageToImport[] =>
          messages.flatMap(({ role, minute, part: own }, number) => {
            if (own !== part) return [];
            const createdAt = minute === null ? null : new Date(Date.UTC(2024, 0, 31, 12, minute));
            return [{ role, content: `imported ${number}`, createdAt, metadata: { external_id: `${number}` } }];
          });
        const { conversationId } = await completeTurn(turns, sampleTurn({ ...owner, sessionId: "s" }));
        const conversation = { ...owner, conversationId };

        async function bring(part: number, order: readonly number[]): Promise<void> {
          const own = partOf(part);
          const sorted = own.map((message, index) => ({ message, at: order[index] ?? 0 })).sort((one, other) => one.at - other.at);
          if (own.length === 0) return;
          const sent = sorted.map(({ message }) => message);
          await imports.import({ ...owner, sessionId: "s", messages: sent, jobKinds: [] });
        }
        async function readOnce(meanwhile: () => Promise<void> = async () => undefined): Promise<boolean> {
          const found = await unread.next(owner, 3);
          await meanwhile();
          if (!found) return false;
          const outcome = await unread.save(owner, found, endOf(found), decided());
          if (outcome !== "saved") return true;
          for (const { asked, anchor } of toExchanges(found.messages)) if (asked && !anchor.isKnown) read.push(asked.id);
          return true;
        }
        async function bringWithin(within: "nothing" | "index" | "read", work: () => Promise<void>): Promise<void> {
          if (within === "nothing") return work();
          if (within === "read") return void (await readOnce(work));
          let isDone = false;
          memory.embedder.beforePassages(async () => {
            if (!isDone) await work();
            isDone = true;
          });
          await memory.step(conversation);
          memory.embedder.beforePassages(async () => undefined);
        }
        const now = Date.now.bind(Date);
        for (const { what, skew } of steps) {
          jest.spyOn(Date, "now").mockImplementation(() => now() + skew * HOUR_MS);
          if (typeof what === "object") await bringWithin(what.within, () => bring(what.bring, what.order));
          else if (what === "index") await memory.step(conversation);
          else if (what === "read") await readOnce();
          else await completeTurn(turns, sampleTurn({ ...owner, sessionId: "s" }), sampleAnswer({ completed: what === "turn" }));
        }
        jest.restoreAllMocks();
        for (const part of [0, 1, 2, 3]) await bring(part, []);
        await memory.indexAll(conversation);
        while (await readOnce());

        const stored = await memory.database.query<{ id: string; role: string; completed: boolean; turn: string | null }>({
          text: "select id, role, completed, metadata->>'turn_id' as turn from messages where conversation_id = $1 order by created_at, id",
          values: [conversationId],
        });
        const answered = new Set(stored.filter(({ role, completed }) => role === "assistant" && completed).map(({ turn }) => turn));
        const expected = stored.filter(({ completed, turn }) => completed && (turn === null || answered.has(turn)));
        const indexed = await memory.indexed(conversation);
        const found = indexed.flatMap(({ id, attributes }) => [...new Set([id, String(attributes["answer_id"])])]);
        expect(found.toSorted()).toEqual(expected.map(({ id }) => id).toSorted());
        const asked = expected.filter(({ role }) => role === "user").map(({ id }) => id);
        expect(read.toSorted()).toEqual(asked.toSorted());
        const pairs = indexed.map(({ id, attributes }): [string, string] => [id, String(attributes["answer_id"])]);
        const texts = await memory.episodes.load(owner, pairs);
        expect(texts.flatMap(({ messageIds }) => messageIds).toSorted()).toEqual(found.toSorted());
      }),
      { numRuns: 40 },
    );
  });
});
