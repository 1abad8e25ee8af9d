import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type Alignment, alignHistory, type Departure, type ShownMessage } from "../../../server/openai/align-history.ts";
import type { PathMessage } from "../../../stores/postgres/paths/path-ends.ts";

interface Exchange {
  question: string;
  /** Null: it failed. */
  answer: string | null;
  isCut: boolean;
}

const CODE = "Try this:\n\n```ts\nconst a = b < c ? 1 : 2;\n\nexport { a };\n```\n\nIt is *short*.";
const TABLE = "| boat | colour |\n| --- | :---: |\n| Argo | blue |\n| Calypso | **red** |\n\n- one\n- two";
const LONG = "The harbour opens at seven, and the ferry leaves when the bell has rung twice; bring warm clothes. ".repeat(4);
const OFTEN = ["Continue", "Thanks!", "继续", "And then?"];
const OFTEN_ANSWERED = ["You're welcome.", "好的。", "Yes."];

const said = (kind: string) =>
  fc.oneof(
    { weight: 8, arbitrary: fc.nat(9_999).map((number) => `${kind} ${number} about 第${number}个问题`) },
    { weight: 1, arbitrary: fc.constantFrom(...(kind === "question" ? OFTEN : OFTEN_ANSWERED)) },
    { weight: 1, arbitrary: fc.nat(9_999).map((number) => `${[CODE, TABLE, LONG][number % 3] ?? ""} ${kind} ${number}`) },
  );
const exchange: fc.Arbitrary<Exchange> = fc.record({
  question: said("question"),
  answer: fc.oneof({ weight: 9, arbitrary: said("answer") }, { weight: 1, arbitrary: fc.constant(null) }),
  isCut: fc.nat(9).map((number) => number === 0),
});

const DOINGS = ["goes on", "edits", "answers again", "deletes the last", "sends the last message alone"] as const;

/** What a person does at their client, and how the client gives back what it has. */
const story = fc.record({
  exchanges: fc.array(exchange, { minLength: 1, maxLength: 14 }),
  doing: fc.constantFrom(...DOINGS),
  at: fc.nat(99),
  /** An answer that the person has corrected. */
  corrected: fc.option(fc.nat(99), { freq: 4 }),
  /** How many of the old messages the client has cut off. */
  cut: fc.option(fc.nat(99), { freq: 5 }),
  form: fc.constantFrom("as it was", "other line ends", "wrapped", "drawn anew"),
});
type Story = typeof story extends fc.Arbitrary<infer Told> ? Told : never;

function inForm(text: string, form: Story["form"]): string {
  if (form === "other line ends") return `${text.replaceAll("\n", "\r\n")}\r\n`;
  if (form === "wrapped") return text.replaceAll(/(.{30}) /g, "$1\n");
  if (form === "drawn anew")
    return text
      .replaceAll("| --- | :---: |", "|------|:------:|")
      .replaceAll(/^- /gm, "* ")
      .replaceAll("*short*", "_short_")
      .replaceAll("< c", "&lt; c");
  return text;
}

function toPath(exchanges: readonly Exchange[]): PathMessage[] {
  return exchanges.flatMap(({ question, answer, isCut }, number) => [
    { id: `q${number}`, role: "user" as const, text: question, completed: true, pictures: [] },
    ...(answer === null ? [] : [{ id: `a${number}`, role: "assistant" as const, text: answer, completed: !isCut, pictures: [] }]),
  ]);
}

/** The request of a story, and where its turn has to leave the path. */
function tell({ exchanges, doing, at, corrected, cut, form }: Story): { alignment: Alignment; expected: Departure } {
  const kept = toPath(exchanges);
  const number = at % exchanges.length;
  const before =
    doing === "edits" || doing === "answers again" ? number : doing === "deletes the last" ? exchanges.length - 1 : exchanges.length;
  const view = exchanges.slice(0, before).map((one, place) => ({
    ...one,
    answer: corrected !== null && one.answer !== null && corrected % exchanges.length === place ? `${one.answer} (corrected)` : one.answer,
  }));
  const all: ShownMessage[] = view.flatMap(({ question, answer }) => [
    { role: "user" as const, text: inForm(question, form), pictureCount: 0 },
    ...(answer === null ? [] : [{ role: "assistant" as const, text: inForm(answer, form), pictureCount: 0 }]),
  ]);
  const alone = doing === "sends the last message alone";
  const shown = alone ? [] : cut === null || all.length === 0 ? all : all.slice(cut % all.length);
  const text = doing === "answers again" ? (exchanges[number]?.question ?? "") : "something new";
  const alignment = { shown, asked: { text, pictures: [] }, kept, gapBefore: null, sendsHistory: !alone };
  const behind = kept.filter(({ id }) => Number(id.slice(1)) >= before);
  const isEnd = behind.every(({ role, completed }) => role === "assistant" && !completed);
  if (alone || isEnd) return { alignment, expected: null };
  if (doing === "answers again") return { alignment, expected: { again: `q${number}` } };
  const last = kept.findLast(({ id }) => Number(id.slice(1)) < before);
  return { alignment, expected: last ? { behind: last.id } : { editOf: "q0" } };
}

const seen = (role: "user" | "assistant", text: string, pictureCount = 0): ShownMessage => ({ role, text, pictureCount });
const said2 = (...texts: string[]): ShownMessage[] => texts.map((text, place) => seen(place % 2 === 0 ? "user" : "assistant", text));
const path = (...texts: string[]): PathMessage[] =>
  texts.map((text, place) => ({ id: `m${place}`, role: place % 2 === 0 ? "user" : "assistant", text, completed: true, pictures: [] }));
const align = (shown: ShownMessage[], text: string, kept: PathMessage[], more: Partial<Alignment> = {}): Departure =>
  alignHistory({ shown, asked: { text, pictures: [] }, kept, gapBefore: null, sendsHistory: true, ...more });

describe("the history of a request, compared with the stored path,", () => {
  test("shows where its client is in 200 stories, with no wrong place and at most 2 % not found", () => {
    const stories = fc.sample(story, { numRuns: 200, seed: 28 });
    const told = stories.map((one) => ({ one, ...tell(one) })).map((one) => ({ ...one, found: alignHistory(one.alignment) }));
    const differing = told.filter(({ expected, found }) => JSON.stringify(expected) !== JSON.stringify(found));
    expect(differing.filter(({ found }) => found !== null)).toEqual([]);
    expect(differing.length).toBeLessThanOrEqual(4);
    expect(told.filter(({ expected }) => expected !== null).length).toBeGreaterThan(80);
  });

  test("in any form is never taken for another place, even where the same words are said often", () => {
    const often = fc.record({ ...{ exchanges: fc.array(exchange, { minLength: 1, maxLength: 8 }) } });
    fc.assert(
      fc.property(story, often, (one, { exchanges }) => {
        const { alignment, expected } = tell({ ...one, exchanges });
        const found = alignHistory(alignment);
        if (found !== null) expect(found).toEqual(expected);
      }),
      { numRuns: 1_000, seed: 29 },
    );
  });

  test("is compared in time, even when it is as long as possible or slow to read", () => {
    const long = Array.from({ length: 10_000 }, (_, number) => (number % 2 === 0 ? `question ${number % 1_000}` : `answer ${number}`));
    expect(align(said2(...long.slice(0, 9_000)), "else", path(...long))).toEqual({ behind: "m8999" });
    const odd = "<details type=".repeat(100_000);
    expect(align(said2("one", odd), "two", path("one", odd, "two", "2"))).toEqual({ again: "m2" });
  });

  const FOUR = path("one", "1", "two", "2");
  const ALIKE = path("hi", "hello", "hi", "hello", "and?", "so");
  test.each<[string, Departure, Departure]>([
    ["when no message fits, the turn goes to the end", align(said2("other", "x"), "three", FOUR), null],
    ["an empty conversation has no place to go back to", align(said2("one", "1"), "two", []), null],
    ["when several places fit, the turn goes to the end", align(said2("hi", "hello"), "other", ALIKE), null],
    ["an exchange with another model is passed over", align(said2("one", "1", "else", "x", "two", "2"), "three", FOUR), null],
    [
      "a part that the front end folds away is ignored",
      align(said2("one", `<details type="reasoning">\nhm\n</details>\n1`), "else", FOUR),
      { behind: "m1" },
    ],
    ["a question without its answer is still found", align(said2("one"), "else", FOUR), { behind: "m0" }],
    ["calls of tools alone are an answer", align([seen("user", "one"), seen("assistant", "")], "else", FOUR), { behind: "m1" }],
    ["other words in a question are an edit", align(said2("one", "1"), "TWO", FOUR), { behind: "m1" }],
    ["other marks in a question are an edit, too", align(said2("one", "1"), "*two*", FOUR), { behind: "m1" }],
    ["a question with other line ends is the same question", align(said2("one", "1"), "two\r\n", FOUR), { again: "m2" }],
    ["another question without the client's usual history edits the first one", align([], "ONE", FOUR), { editOf: "m0" }],
    ["another question of a client that sends no history is a new one", align([], "ONE", FOUR, { sendsHistory: false }), null],
    ["the only question without history is answered again", align([], "one", path("one", "1"), { sendsHistory: false }), { again: "m0" }],
    [
      "the only question without history is no repeat before it has an answer",
      align([], "one", path("one"), { sendsHistory: false }),
      null,
    ],
    ["an old question without history is no repeat", align([], "one", FOUR, { sendsHistory: false }), null],
    ["another picture is an edit", align(said2("one", "1"), "two", FOUR, { asked: { text: "two", pictures: ["b"] } }), { behind: "m1" }],
    [
      "a part of the path that was not read is not guessed",
      align(said2("one", "1"), "three", path("one", "1", "four", "4"), { gapBefore: 2 }),
      null,
    ],
  ])("is understood in this case: %s", (_what, found, expected) => expect(found).toEqual(expected));
});
