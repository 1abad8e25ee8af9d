import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { anyText } from "../../support/samples/any-text.ts";
import { afterMessage, decideOffline, SENTENCES, toSections } from "./sentences.ts";

const linesOf = (sections: Record<string, string>): string[] =>
  Object.entries(sections).flatMap(([section, content]) => content.split("\n").map((line) => `${section}: ${line}`));

describe("decideSections", () => {
  test.each(SENTENCES.map((sentence) => [sentence.kind, sentence.message, sentence] as const))(
    "%s: %j",
    (_kind, message, { known, expected }) => {
      const [before, after] = [toSections(known), afterMessage(toSections(known), message)].map(linesOf) as [string[], string[]];
      const added = after.filter((line) => !before.includes(line));
      const removed = before.filter((line) => !after.includes(line)).map((line) => `-${line}`);
      expect([...added, ...removed].sort()).toEqual(expected.toSorted());
    },
  );

  test("gives the whole content of a section, and leaves lines in other words as they are", () =>
    expect(decideOffline({ profile: "Ada, née King, lived in Lisbon\nLives in Lisbon." }, "I moved to Porto.")).toEqual([
      { section: "profile", content: "Ada, née King, lived in Lisbon\nLives in Porto." },
    ]));

  test("touches no section of another name", () =>
    expect(decideOffline({ secrets: "Lives in Lisbon." }, "I moved to Porto.").map(({ section }) => section)).toEqual(["profile"]));

  test.each([
    [["profile: Name: Ada."], "I live in Porto.", ["Name: Ada.\nLives in Porto."]],
    [["profile: Lives in Porto."], "I live in Lisbon.", []],
    [["profile: 住在杭州。"], "我住在上海", []],
    [["preferences: Dislikes tea."], "I like tea.", []],
    [["preferences: Likes tea."], "I don't like tea any more.", []],
    [["preferences: Likes tea."], "Forget that I like tea.", []],
    [["constraints: Vegetarian."], "I love jazz.", ["Likes jazz."]],
  ])("with a message older than what is known only adds: %j, %j", (known, message, contents) =>
    expect(decideOffline(toSections(known), message, { onlyAdd: true }).map(({ content }) => content)).toEqual(contents),
  );

  test.each([
    ["Likes tea.", "I like documentaries.", 20, []],
    ["Likes tea.", "I like documentaries and jazz.", 24, ["Likes tea.\nLikes jazz."]],
    ["Likes coffee.", "I no longer like coffee. I like documentaries.", 12, [""]],
  ])(
    "leaves out what does not fit, but keeps what is known unless it is over: %j, %j, %i",
    (preferences, message, sectionLimit, contents) =>
      expect(decideOffline({ preferences }, message, { sectionLimit }).map(({ content }) => content)).toEqual(contents),
  );
});

test.each<[string, string[], Record<string, string>]>([
  [
    "a move, and back again",
    ["I live in Lisbon.", "I moved to Porto last month.", "We moved back to Lisbon."],
    { profile: "Lives in Lisbon." },
  ],
  ["from liking to disliking", ["I like tea.", "I don't like tea."], { preferences: "Dislikes tea." }],
  ["from disliking to liking", ["I hate running.", "Actually, I love running now."], { preferences: "Likes running." }],
  ["a name that was misunderstood", ["My name is Ann.", "My name is Anna."], { profile: "Name: Anna." }],
  ["a Chinese name that was misunderstood", ["我叫王芳", "我叫王方"], { profile: "名字：王方。" }],
  [
    "one thing to forget after the other",
    ["My name is Ada. I live in Porto. I like tea.", "Forget where I live.", "Please forget that I like tea."],
    { profile: "Name: Ada." },
  ],
  ["everything is to be forgotten", ["My name is Ada.", "I like tea.", "Forget everything about me."], {}],
  [
    "questions and moods in between",
    ["I like tea.", "Do I like tea?", "I'm tired.", "If I lived in Rome I would like coffee."],
    { preferences: "Likes tea." },
  ],
  ["a move told in two languages", ["我住在上海", "I moved to Porto.", "我搬到上海了"], { profile: "住在上海。" }],
  ["不再喜欢", ["我喜欢科幻", "我现在不再喜欢科幻了"], { preferences: "不喜欢科幻。" }],
  ["喜欢变成不喜欢", ["我喜欢喝咖啡", "我不喜欢咖啡"], { preferences: "不喜欢咖啡。" }],
  ["不喜欢变成喜欢", ["我讨厌跑步", "我喜欢上跑步了"], { preferences: "喜欢跑步。" }],
  ["忘掉说过的", ["我住在上海，喜欢喝茶", "忘了我说过的住址", "忘掉我喜欢喝茶这件事"], {}],
])("a change of mind: %s", (_what, messages, sections) =>
  expect(messages.reduce((known, message) => afterMessage(known, message), {})).toEqual(sections),
);

const MAIL = "Hi Tom,\n\nI moved to Porto last month and I love it here.\nMy name is still Ann, of course.\n\nBest, Ann";
test.each([
  ["a mail", MAIL],
  ["a mail with a request in front", `Please answer this mail.\n\n${MAIL}`],
  ["a mail on one line", "Hi Tom, I moved to Porto. I like the sea. Best regards, Ann"],
  ["a Chinese mail", "王老师您好，\n\n我叫李雷，我住在杭州。\n\n祝好\n李雷"],
  ["a Chinese mail on one line", "王老师您好，我叫李雷，我住在杭州。此致敬礼"],
  ["a poem", "I love the rain\nI love jazz"],
  ["a poem on one line", "I love rain / I live in Rome / I hate snow"],
  ["a Chinese poem on one line", "我喜欢春天/我住在南山/我讨厌冬天"],
  ["a transcript on one line", "Ann: I live in Porto. Bob: I like tea."],
  ["a transcript with times", "[10:02] Ann I live in Porto\n[10:03] Bob I like tea"],
  ["a list", "- I live in Porto.\n- I like tea."],
  ["a Chinese transcript", "李雷：我住在杭州\n韩梅梅：我喜欢喝茶"],
  ["a Chinese transcript on one line", "李雷：我住在杭州。韩梅梅：我喜欢喝茶。"],
  ["a quotation", '"I live in Porto. I like tea."'],
  ["a Chinese quotation", "「我住在杭州。我喜欢茶。」"],
  ["a long text", `I live in Porto. ${"It was a long day. ".repeat(30)}I like tea.`],
  ["an order in a mail", "Remember that I live in Porto.\n\nRegards, Ann"],
  ["an order to forget in a poem", "Forget where I live\nForget my name"],
  ["a tag", "I like <tea>"],
  ["code", "My name is `x`"],
  ["a template", "I like ${tea}"],
  ["a prompt", "I like [INST] tea"],
])("nothing is learnt from %s that was pasted", (_what, message) =>
  expect(decideOffline({ profile: "Lives in Rome.\nName: Tom." }, message)).toEqual([]),
);

describe("decideSections, whatever is said", () => {
  const beginnings = "I like |My name is |I live in |Remember that my |我喜欢|我叫|我住在|忘掉我|and |，|\n|. |<b>".split("|");
  const phrase = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...SENTENCES.map(({ message }) => message)) },
    fc.constantFrom(...beginnings, "{{x}}"),
    fc.string({ maxLength: 12 }),
  );
  /** Sentences that say something, one after the other and cut into one another, with odd text in between. */
  const saying = fc
    .array(phrase, { maxLength: 5 })
    .chain((parts) => fc.constantFrom(" ", "", "\n", ", ").map((between) => parts.join(between)));
  const everyLine = SENTENCES.flatMap(({ expected, known }) => [...known, ...expected]).map((line) => line.replace(/^-/, ""));
  const knownLines = fc.uniqueArray(fc.constantFrom(...everyLine), { maxLength: 8 }).map(toSections);
  const options = fc.record({ onlyAdd: fc.boolean(), sectionLimit: fc.constantFrom(2_000, 80, 30, 5) });

  test("property: it stores lines of at most 160 characters within the limit, without tags, templates or control characters", () => {
    fc.assert(
      fc.property(fc.oneof(saying, anyText, fc.string({ unit: "binary" })), options, (message, chosen) => {
        for (const { content } of decideOffline({}, message, chosen)) {
          expect(content.length).toBeLessThanOrEqual(chosen.sectionLimit);
          expect(content).not.toMatch(/[<>{}[\]`|$\\]/);
          for (const line of content.split("\n")) {
            expect(line).toMatch(/\S/);
            expect(line).not.toMatch(/\p{Cc}|\u2028|\u2029|.{161}/u);
          }
        }
      }),
      { numRuns: 600 },
    );
  });

  test("property: it never throws, whatever is known", () => {
    const anySections = fc.dictionary(fc.constantFrom("profile", "preferences", "other"), anyText);
    fc.assert(
      fc.property(fc.oneof(saying, anyText), anySections, (message, sections) => {
        for (const { content } of decideOffline(sections, message)) expect(content.length).toBeLessThanOrEqual(2_000);
      }),
      { numRuns: 200 },
    );
  });

  test("property: the same message twice changes nothing more", () => {
    fc.assert(
      fc.property(saying, knownLines, options, (message, known, chosen) => {
        expect(decideOffline(afterMessage(known, message, chosen), message, chosen)).toEqual([]);
      }),
      { numRuns: 800 },
    );
  });

  test("property: an older message takes no line away", () => {
    fc.assert(
      fc.property(saying, knownLines, (message, known) => {
        for (const { section, content } of decideOffline(known, message, { onlyAdd: true }))
          expect(content.split("\n")).toEqual(expect.arrayContaining((known[section] ?? "").split("\n").filter(Boolean)));
      }),
      { numRuns: 400 },
    );
  });
});
