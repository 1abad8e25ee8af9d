import { describe, expect, test } from "@jest/globals";
import { openRecallSet, ownerOf } from "../../../benchmarks/support/recall/open-set.ts";
import type { Embedder } from "../../../models/embedder.ts";
import { makeHashedEmbedder } from "../../../models/offline/hashed-embedder.ts";
import type { MessageToImport } from "../../../stores/postgres/conversations/plan-import.ts";
import { ANSWER, readPairs, readRecordedEmbedder, UNRELATED } from "./language-vectors.ts";

const PAIRS = await readPairs();
const AT = new Date("2026-11-20T10:00:00Z");
const messages = PAIRS.flatMap(([said], place): MessageToImport[] => {
  const createdAt = new Date(AT.getTime() + place * 60_000);
  const message = (role: "user" | "assistant", content: string) => ({ role, content, createdAt, metadata: {} });
  return [message("user", said), message("assistant", ANSWER)];
});
const MOST_MISSED = 8;

describe("what was said in one language and is asked in another", () => {
  /** The questions whose answer is not among the first five, and the unrelated ones that find anything. */
  async function missedBy(embedder: Embedder) {
    await using opened = await openRecallSet({ histories: [{ messages, questions: [] }] }, embedder, () => undefined);
    const recall = opened.recall("fused", new Date(AT.getTime() + 86_400_000));
    const ask = async (question: string) => (await recall({ ...ownerOf(0), question, limit: 5 })).episodes;
    const found = await Promise.all(PAIRS.map(async ([said, asked]) => (await ask(asked)).some((one) => one.userMessage === said)));
    const [nearest] = await ask(PAIRS[0]?.[1] ?? "");
    expect(Math.abs(nearest?.similarity ?? 0)).toBeLessThanOrEqual(1); // a cosine, whatever it is ranked by
    const unrelated = await Promise.all(UNRELATED.map(async (question) => ((await ask(question)).length > 0 ? [question] : [])));
    return { missed: PAIRS.filter((_, place) => !found[place]), unrelated: unrelated.flat() };
  }

  test("is among the first five with the built-in embedder where a name, a number or a loanword is in both", async () => {
    const { missed } = await missedBy(makeHashedEmbedder({}));
    expect(missed.filter(([, , carries]) => carries === "yes")).toEqual([]);
  });

  test("is among the first five with multilingual-e5-small for 32 of 40 pairs, and what nobody told is not found", async () => {
    const { missed, unrelated } = await missedBy(await readRecordedEmbedder());
    expect(missed.map(([, asked]) => asked).slice(MOST_MISSED)).toEqual([]);
    expect(unrelated).toEqual([]);
  });

  test("is found less by the same vectors when their cosines are not counted within a script", async () => {
    const plain = { ...(await readRecordedEmbedder()), favoursScripts: false, minSimilarity: 0.86 };
    expect((await missedBy(plain)).missed.length).toBeGreaterThan(2 * MOST_MISSED);
  });
});
