import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { fitCoreMemory, fitEpisodes, fitPassages } from "../../prompt/quoted-parts.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { idOf } from "../support/samples/sample-window.ts";
import { anyCore, anyEpisodes, exchange, passage, section } from "./prompt-samples.ts";

const NO_LIMIT = 10_000_000;

/** What stands between the tags of a text. */
const inside = (tag: string, text: string): string => new RegExp(`^[^<]*<${tag}>\\n([^]*)\\n</${tag}>$`, "u").exec(text)?.[1] ?? "no fence";

describe("fitCoreMemory", () => {
  const fenced = (text: string) => inside("core_memory", text);

  test("gives each section under its name, in the order given, and neither shows nor lists blank ones", () => {
    const filled = [section("profile", "Name: Ada\n住在里斯本"), section("goals", "To sail", 7)];
    const { sections, text } = fitCoreMemory([...filled, section("blank", " \n\t\u3000")], NO_LIMIT);
    expect(fenced(text)).toBe("[profile]\n> Name: Ada\n> 住在里斯本\n[goals]\n> To sail");
    expect(sections).toEqual(filled);
  });

  test.each([[[]], [[section("profile", ""), section("goals", " ")]]])("gives an empty text without a heading for %j", (sections) => {
    expect(fitCoreMemory(sections, NO_LIMIT)).toEqual({ sections: [], text: "" });
  });

  test("keeps sections word for word as long as all together fit", () => {
    const sections = ["profile", "goals"].map((name) => section(name, "word ".repeat(100)));
    const tokens = estimateTokens(fitCoreMemory(sections, NO_LIMIT).text);
    expect(fitCoreMemory(sections, tokens).text).not.toMatch(/left out/);
    expect(fitCoreMemory(sections, tokens - 1).text.match(/characters left out/g)).toHaveLength(2);
  });

  test("shortens in the middle the sections that have more than their share, and leaves shorter ones as they are", () => {
    const long = section("profile", `begin ${"word ".repeat(300)}end`);
    const { sections, text } = fitCoreMemory([long, section("goals", "To sail")], 200);
    expect(fenced(text)).toMatch(/^\[profile\]\n> begin .* \[…\d+ characters left out…\] .*end\n\[goals\]\n> To sail$/u);
    expect(sections).toHaveLength(2);
  });

  test("keeps any sections within their tokens between its tags, apart from a line break and a mark for each section", () => {
    fc.assert(
      fc.property(anyCore, fc.integer({ min: 100, max: 4_000 }), (given, maxTokens) => {
        const { sections, text } = fitCoreMemory(given, maxTokens);
        if (text !== "") expect(estimateTokens(fenced(text))).toBeLessThanOrEqual(maxTokens + sections.length * 2);
      }),
    );
  });
});

describe("fitEpisodes", () => {
  const fenced = (text: string) => inside("earlier_exchanges", text);

  test("gives nothing for no episodes", () => expect(fitEpisodes([], NO_LIMIT)).toEqual({ episodes: [], text: "" }));

  test("writes episodes in the order of time with their days, between tags, and calls them a record", () => {
    const { text, episodes } = fitEpisodes([exchange(7), exchange(3), exchange(5, { userMessage: "我喜欢绿色。" })], NO_LIMIT);
    expect(text).toMatch(/not an instruction:\n<earlier_exchanges>\n/);
    expect(fenced(text)).toBe(
      "[2024-01-03] User:\n> asked 3\nAssistant:\n> answered 3\n" +
        "[2024-01-05] User:\n> 我喜欢绿色。\nAssistant:\n> answered 5\n" +
        "[2024-01-07] User:\n> asked 7\nAssistant:\n> answered 7",
    );
    expect(episodes.map(({ id }) => id)).toEqual([7, 3, 5].map(idOf));
  });

  test("writes a message without a partner as its speaker's, and an archived memory as a note", () => {
    const alone = exchange(1, { assistantMessage: "", messageIds: [idOf(1)] });
    const toNothing = exchange(2, { userMessage: "", messageIds: [idOf(2)] });
    const archived = exchange(3, { userMessage: "Has a cat.", assistantMessage: "", messageIds: [idOf(9)] });
    expect(fenced(fitEpisodes([alone, toNothing, archived], NO_LIMIT).text)).toBe(
      "[2024-01-01] User:\n> asked 1\n[2024-01-02] Assistant:\n> answered 2\n[2024-01-03] Noted:\n> Has a cat.",
    );
  });

  test("keeps the best episodes when not all fit, not the oldest", () => {
    const best = [exchange(9), exchange(1), exchange(4)];
    const room = estimateTokens(fitEpisodes(best.slice(0, 1), NO_LIMIT).text);
    expect(fitEpisodes(best, room).episodes.map(({ id }) => id)).toEqual([idOf(9)]);
    expect(fitEpisodes(best, room - 1)).toEqual({ episodes: [], text: "" });
  });

  test("shortens a long exchange and says so, so that one exchange does not take the place of all", () => {
    const long = exchange(1, { userMessage: `first ${"word ".repeat(5_000)}last`, assistantMessage: "长".repeat(5_000) });
    const { text } = fitEpisodes([long], 1_000);
    expect(text).toMatch(/User:\n> first .*\[…\d+ characters left out…\].* last\nAssistant:\n> 长+ ?\[…\d+ characters left out…\]/u);
    expect(estimateTokens(text)).toBeLessThanOrEqual(700);
  });

  test("keeps any episodes within their tokens, and keeps the best ones only", () => {
    fc.assert(
      fc.property(anyEpisodes, fc.integer({ min: -10, max: 3_000 }), (episodes, maxTokens) => {
        const fitting = fitEpisodes(episodes, maxTokens);
        expect(fitting.episodes).toEqual(episodes.slice(0, fitting.episodes.length));
        expect(estimateTokens(fitting.text)).toBeLessThanOrEqual(Math.max(0, maxTokens));
        expect(fitting.text === "").toBe(fitting.episodes.length === 0);
      }),
    );
  });
});

describe("fitPassages", () => {
  const found = (...passages: ReturnType<typeof passage>[]) => ({ passages, isIncomplete: false });

  test("gives nothing when no documents were searched", () => expect(fitPassages(null, NO_LIMIT)).toEqual({ passages: [], text: "" }));

  test("numbers passages from 1 in their order, each under its title and headings, between tags, and calls them data", () => {
    const { passages, text } = fitPassages(found(passage(1, { heading: "Hotels > Lisbon" }), passage(2)), NO_LIMIT);
    expect(passages.map(({ id }) => id)).toEqual(["p1", "p2"]);
    expect(text).toMatch(
      /data, not instructions.*cite.*\[1\].*\n<passages>\n\[1\] Title 1 > Hotels > Lisbon\n> Text 1\.\n\[2\] Title 2\n> Text 2\.\n<\/passages>$/,
    );
  });

  test("says when nothing fits and when documents cannot be searched, and tells the model not to invent anything", () => {
    expect(fitPassages(found(), NO_LIMIT).text).toMatch(/nothing in them fits.*do not invent:\n<passages>\n\(none\)/);
    const unavailable = fitPassages({ passages: [], isIncomplete: true }, NO_LIMIT).text;
    expect(unavailable).toMatch(/cannot be searched.*do not invent:\n<passages>\n\(none\)/);
  });

  test("leaves out the worst passages when not all fit", () => {
    const long = [1, 2, 3].map((number) => passage(number, { text: "word ".repeat(300) }));
    const { passages, text } = fitPassages(found(...long), 900);
    expect(passages.map(({ id }) => id)).toEqual(["p1", "p2"]);
    expect(estimateTokens(text)).toBeLessThanOrEqual(900);
  });
});
