import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "@jest/globals";
import { generateDialogues } from "../../../benchmarks/support/dialogues/generate-dialogues.ts";
import { openRecallSet, ownerOf } from "../../../benchmarks/support/recall/open-set.ts";
import { type Place, PGLITE, PLACES } from "../../../benchmarks/support/recall/places.ts";
import { makeHashedEmbedder } from "../../../models/offline/hashed-embedder.ts";
import type { MessageToImport } from "../../../stores/postgres/conversations/plan-import.ts";
import { splitSentences } from "../../../text/split-sentences.ts";

const DECISIONS = new URL("../../../docs/decisions/", import.meta.url);
const QUESTIONS = 120;
const WORDS = 12;
const NOW = new Date("2026-12-01T00:00:00Z");

/** What people wrote, in English, and generated talk in Chinese: what was said, and what was answered. */
async function readExchanges(): Promise<[said: string, answered: string][]> {
  const files = (await readdir(DECISIONS)).toSorted();
  const texts = await Promise.all(files.map((file) => readFile(new URL(file, DECISIONS), "utf8")));
  const paragraphs = texts.flatMap((text) => text.split(/\n\n|\n- /)).map((text) => splitSentences(text.trim()));
  const written = paragraphs.filter(({ length }) => length > 1).map(([first = "", ...rest]): [string, string] => [first, rest.join(" ")]);
  const chinese = generateDialogues({ count: 1, turns: 80 }).filter(({ set }) => set.endsWith("zh"));
  return [...written, ...chinese.flatMap(({ exchanges }) => exchanges.map(({ user, assistant }): [string, string] => [user, assistant]))];
}

const exchanges = await readExchanges();
const messages = exchanges.flatMap(([said, answered], place) =>
  [said, answered].map((content, second): MessageToImport => {
    const createdAt = new Date(Date.UTC(2026, 0, 1) + place * 60_000 + second);
    return { role: second === 0 ? "user" : "assistant", content, createdAt, metadata: {} };
  }),
);
/** The beginning of a later sentence of an answer. */
const questions = exchanges
  .filter((_, place) => place % Math.max(1, Math.floor(exchanges.length / QUESTIONS)) === 0)
  .map(([, answered]) => (splitSentences(answered).at(-1) ?? answered).split(" ").slice(0, WORDS).join(" ").slice(0, 200));

/** The ids of the five that each question recalls, in the order of the messages' places. */
async function recallOn(place: Place): Promise<string[]> {
  await using opened = await openRecallSet({ histories: [{ messages, questions: [] }] }, makeHashedEmbedder({}), () => undefined, place);
  const recall = opened.recall("fused", NOW);
  const found: string[] = [];
  for (const question of questions) {
    const { episodes, degraded } = await recall({ ...ownerOf(0), question, limit: 5 });
    expect(degraded).toBe(false);
    found.push(episodes.map(({ userMessage }) => userMessage).toSorted().join("\n")); // prettier-ignore
  }
  return found;
}

let embedded: Promise<string[]> | undefined;

for (const place of PLACES.filter((one) => one !== PGLITE)) {
  const missing = await place.whyNot();
  const title = `the same five are recalled on ${place.name} as in the embedded database, for 95 % of real questions and more`;
  (missing === undefined ? test : test.skip)(missing === undefined ? title : `${title} (skipped: ${missing})`, async () => {
    const [one, other] = [await (embedded ??= recallOn(PGLITE)), await recallOn(place)];
    expect(one.length).toBeGreaterThan(100);
    expect(one.filter((five) => five !== "").length).toBeGreaterThan(100);
    const same = one.filter((five, number) => five === other[number]).length;
    expect(same / one.length).toBeGreaterThanOrEqual(0.95);
  });
}
