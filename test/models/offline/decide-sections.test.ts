import { describe, expect, test } from "@jest/globals";
import { decideOffline, changedLines, toSections } from "./changed-lines.ts";
import { SENTENCES } from "./sentences.ts";

describe("decideSections", () => {
  test.each(SENTENCES.map((sentence) => [sentence.kind, sentence.message, sentence] as const))("%s: %j", (_kind, _message, sentence) =>
    expect(changedLines(sentence).toSorted()).toEqual(sentence.expected.toSorted()),
  );

  test("gives the whole content of a section, with a reason", () =>
    expect(decideOffline({ profile: "Name: Ada.\nLives in Lisbon." }, "I moved to Porto.")).toEqual([
      {
        section: "profile",
        content: "Name: Ada.\nLives in Porto.",
        reason: 'The user said so: removed "Lives in Lisbon.", added "Lives in Porto."',
      },
    ]));

  test("removes a section with its last line", () =>
    expect(decideOffline({ preferences: "Likes tea." }, "I no longer like tea.")).toMatchObject([{ section: "preferences", content: "" }]));

  test("leaves lines in other words as they are", () => {
    const profile = "Ada, née King, once wrote a program for a machine nobody built\nLives in Lisbon.";
    expect(decideOffline({ profile }, "I moved to Porto.")[0]?.content).toBe(
      "Ada, née King, once wrote a program for a machine nobody built\nLives in Porto.",
    );
  });

  test("touches no section of another name", () =>
    expect(decideOffline({ secrets: "Lives in Lisbon." }, "I moved to Porto.").map(({ section }) => section)).toEqual(["profile"]));

  describe("with a message older than what is known", () => {
    const older = (known: string[], message: string): string[] =>
      decideOffline(toSections(known), message, { onlyAdd: true }).map(({ content }) => content);

    test.each([
      [["profile: Name: Ada."], "I live in Porto.", ["Name: Ada.\nLives in Porto."]],
      [["profile: Lives in Porto."], "I live in Lisbon.", []],
      [["profile: 住在杭州。"], "我住在上海", []],
      [["preferences: Dislikes tea."], "I like tea.", []],
      [["preferences: Likes tea."], "I don't like tea any more.", []],
      [["preferences: Likes tea."], "Forget that I like tea.", []],
      [["constraints: Vegetarian."], "I love jazz.", ["Likes jazz."]],
    ])("%j, %j", (known, message, contents) => expect(older(known, message)).toEqual(contents));
  });

  describe("with little room", () => {
    test("leaves out what does not fit, and keeps what is known", () => {
      expect(decideOffline({ preferences: "Likes tea." }, "I like documentaries.", { sectionLimit: 20 })).toEqual([]);
      expect(decideOffline({ preferences: "Likes tea." }, "I like documentaries and jazz.", { sectionLimit: 24 })).toMatchObject([
        { content: "Likes tea.\nLikes jazz." },
      ]);
    });

    test("what is no longer so goes even when what takes its place does not fit", () =>
      expect(decideOffline({ profile: "Lives in Rome." }, "I moved to Llanfairpwllgwyngyll.", { sectionLimit: 20 })).toMatchObject([
        { section: "profile", content: "" },
      ]));
  });

  test("a long message is read in a moment", () => {
    const long = "I like tea and I work as ".repeat(40_000) + "a ".repeat(40_000) + "我喜欢".repeat(40_000);
    const start = performance.now();
    decideOffline({}, long);
    decideOffline({}, "我".repeat(4_000));
    decideOffline({}, "I am really ".repeat(400));
    expect(performance.now() - start).toBeLessThan(1_000);
  });
});
