import { readFile } from "node:fs/promises";
import { expect, test } from "@jest/globals";
import { afterMessage, toSections } from "../sentences.ts";

/** What is said, what is known before, and what changes: "-" takes a line away. */
interface Held {
  said: string;
  known?: string[];
  changes: string[];
}

const read = async <Content>(file: string): Promise<Content> =>
  JSON.parse(await readFile(new URL(file, import.meta.url), "utf8")) as Content;
const { english = [], chinese = [] } = await read<Record<string, Held[]>>("held-sentences.json");
const hostile = await read<string[]>("hostile-negatives.json");

/** What could be lost. */
const MUCH =
  "profile: Name: Tom. | profile: Lives in Lisbon. | profile: Works at the harbour. | profile: Dog is called Rex. | profile: 猫叫小花。 | constraints: Allergic to eggs. | constraints: 对鸡蛋过敏。 | preferences: Likes tea. | preferences: 喜欢喝茶。 | goals: Chose plan A. | instructions: Answer in German.".split(
    " | ",
  );

function changesOf(said: string, known: string[]): string[] {
  const after = Object.entries(afterMessage(toSections(known), said)).flatMap(([section, content]) =>
    content.split("\n").map((line) => `${section}: ${line}`),
  );
  const [added, removed] = [after.filter((line) => !known.includes(line)), known.filter((line) => !after.includes(line))];
  return [...added, ...removed.map((line) => `-${line}`)].sort();
}

test.each([
  ["English", english],
  ["Chinese", chinese],
])("the rules make of 95 in 100 held sentences in %s what must be known", (_language, sentences) => {
  const wrong = sentences.filter(({ said, known = [], changes }) => changesOf(said, known).join() !== changes.toSorted().join());
  expect(sentences.length).toBeGreaterThanOrEqual(200);
  expect(wrong.length > sentences.length / 20 ? wrong.map(({ said }) => said) : []).toEqual([]);
});

test("the rules learn and lose nothing by questions, plans, jokes, quotations, orders and what is so of others", () => {
  const negatives = [...english, ...chinese].flatMap(({ said, changes }) => (changes.length === 0 ? [said] : []));
  expect(negatives.length).toBeGreaterThanOrEqual(120);
  const learnt = [...negatives, ...hostile].flatMap((said) => {
    const changed = [...changesOf(said, []), ...changesOf(said, MUCH)];
    return changed.length > 0 ? [`${said} → ${changed.join(", ")}`] : [];
  });
  expect(learnt).toEqual([]);
});

test.each(["I live in ", "i prefer tea to ", "我搬到", "我对", "not a, ", "Sorry, ", "really ", "不是", "my a's name is ", "昨天"])(
  "the rules read 100 KB of %j, as a message and as a line of core memory that leaves no room, and lose nothing",
  (part) => {
    const long = part.repeat(100_000 / part.length);
    expect(changesOf(long, [])).toEqual([]);
    expect(changesOf("I moved to Porto.", [`preferences: ${long}`])).toEqual(["profile: Lives in Porto."]);
    expect(changesOf("I moved to Porto.", [`profile: ${long}`])).toEqual([]);
  },
);
