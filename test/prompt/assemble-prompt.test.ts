import { AIMessage, HumanMessage, SystemMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { assemblePrompt, type PromptParts } from "../../prompt/assemble-prompt.ts";
import type { Receipt } from "../../turn/state.ts";
import type { WindowMessage } from "../../turn/state.ts";
import { estimateTokens, TOKENS_PER_MESSAGE } from "../../text/tokens.ts";
import { anyText } from "../support/samples/any-text.ts";
import { anySummary, anyWindow, idOf, sampleWindow, summaryThrough, windowMessage } from "../support/samples/sample-window.ts";
import { anyCore, anyDocuments, anyEpisodes, anyInstructions, exchange, passage, section, tagsIn } from "./prompt-samples.ts";

const NO_LIMIT = 10_000_000;
const MARK = / \[…\d+ characters left out…\] /u;
const CORE = [section("profile", "Name: Ada", 4), section("goals", "To sail")];
const EVERYTHING = {
  coreMemory: CORE,
  summary: summaryThrough(4, { text: "Ada lives in Lisbon.\n她喜欢绿色。", version: 3 }),
  window: sampleWindow(6).slice(4),
  episodes: [exchange(2)],
  documents: { passages: [passage(1)], isIncomplete: false },
};

const anyParts = fc.record({
  instructions: anyInstructions,
  coreMemory: anyCore,
  summary: anySummary,
  window: anyWindow,
  episodes: anyEpisodes,
  documents: anyDocuments,
  message: anyText,
});
const anyBudget = fc.integer({ min: 256, max: 6_000 });

const assemble = (parts: Partial<PromptParts> = {}) =>
  assemblePrompt({ summary: null, window: [], message: "now", tokenBudget: NO_LIMIT, ...parts });
const systemOf = (parts: Partial<PromptParts>): string => assemble(parts).messages[0]?.text ?? "";
const lastOf = (parts: Partial<PromptParts>): string => assemble(parts).messages.at(-1)?.text ?? "";
const plain = (messages: BaseMessage[]): string[] => messages.map(({ type, text }) => `${type}: ${text}`);

/** Whether `given` is the text itself, or its beginning and end around a mark. */
function isShortenedFrom(text: string, given: string): boolean {
  if (given === text) return true;
  const mark = MARK.exec(given);
  return mark !== null && text.startsWith(given.slice(0, mark.index)) && text.endsWith(given.slice(mark.index + mark[0].length));
}

describe("a prompt from assemblePrompt", () => {
  test("has at most as many tokens as the budget for any parts, and says how many it has", () => {
    fc.assert(
      fc.property(anyParts, anyBudget, (parts, tokenBudget) => {
        const isSmall = tokenBudget < 512; // of a smaller one than core memory or documents can be used with
        const { messages, tokens, receipt } = assemble({ ...parts, ...(isSmall && { coreMemory: [], documents: null }), tokenBudget });
        const counted = messages.reduce((sum, { text }) => sum + estimateTokens(text) + TOKENS_PER_MESSAGE, 0);
        // Each part is rounded up by itself, and a blank line stands between two.
        expect(tokens).toBeGreaterThanOrEqual(counted);
        expect(tokens).toBeLessThanOrEqual(counted + 10);
        expect(Object.values(receipt.prompt_tokens ?? {}).reduce<number>((sum, part) => sum + (part ?? 0), 0)).toBe(tokens);
        expect(tokens).toBeLessThanOrEqual(tokenBudget);
      }),
    );
  });

  test("is the system text, the newest of the window in order and the current message, and lists what stands in it, for any parts", () => {
    fc.assert(
      fc.property(anyParts, anyBudget, (parts, tokenBudget) => {
        const { messages, leftOut, shortened, receipt } = assemble({ ...parts, tokenBudget });
        const { coreMemory, summary, window, episodes, message } = parts;
        expect(messages[0]).toBeInstanceOf(SystemMessage);
        expect(messages.at(-1)).toBeInstanceOf(HumanMessage);
        const whole = window.slice(leftOut.messages).map(({ role, content }) => `${role === "user" ? "human" : "ai"}: ${content}`);
        const given = plain(messages.slice(1, -1));
        expect(given).toHaveLength(whole.length);
        expect(given.filter((text, index) => !isShortenedFrom(whole[index] ?? "", text))).toEqual([]);
        const last = messages.at(-1)?.text ?? "";
        const current = last.endsWith(message) ? 0 : 1;
        expect(given.filter((text, index) => text !== whole[index])).toHaveLength(shortened - current);

        const known = coreMemory.filter(({ content }) => content.trim() !== "").map(({ section, version }) => ({ section, version }));
        const fenced = /<core_memory>\n([^]*?)\n<\/core_memory>/u.exec(messages[0]?.text ?? "")?.[1] ?? "";
        const [facts, wishes] = [false, true].map((isWish) =>
          receipt.core_memory.filter(({ section }) => (section === "instructions") === isWish),
        ) as [Receipt["core_memory"], Receipt["core_memory"]];
        for (const { section } of facts) expect(fenced).toContain(`[${section}]`);
        expect(fenced === "").toBe(facts.length === 0);
        expect(/<user_wishes>\n> /.test(messages[0]?.text ?? "")).toBe(wishes.length > 0);
        const hasSummary = messages[0]?.text.includes("<conversation_summary>") ?? false;
        const isRoomy = tokenBudget >= 2_000 && estimateTokens(message) <= (tokenBudget * 25) / 85;
        if (isRoomy) expect(hasSummary).toBe(summary !== null);
        const recalled = /<earlier_exchanges>\n([^]*?)\n<\/earlier_exchanges>/u.exec(last)?.[1] ?? "";
        const shown = episodes.filter((_, place) => recalled.includes(`:\n> mark${place}.`)).map(({ id }) => id);
        expect(receipt).toMatchObject({
          summary: hasSummary ? { version: summary?.version, covered_message_count: summary?.coveredMessageCount } : null,
          window_messages: window.length - leftOut.messages,
          core_memory: isRoomy ? known : known.slice(0, receipt.core_memory.length),
          episodes: shown.map((id) => ({ id })),
        });
      }),
    );
  });

  test("keeps any text inside its fence, with at most one pair of tags of each kind", () => {
    fc.assert(
      fc.property(anyParts, anyBudget, (parts, tokenBudget) => {
        const { messages } = assemble({ ...parts, window: [], message: "now", tokenBudget });
        const tags = messages.flatMap(({ text }) => tagsIn(text));
        expect(tags).toEqual([...new Set(tags)]);
        expect(tags.length % 2).toBe(0);
        expect(messages.filter(({ text }) => /<\s*\|/.test(text))).toEqual([]);
      }),
    );
  });

  test("ends with any current message, word for word when it fits or has half the budget, and else with its beginning and end", () => {
    fc.assert(
      fc.property(anyWindow, anyText, anyBudget, (window, message, tokenBudget) => {
        expect(lastOf({ window, message, tokenBudget: Math.max(256, 2 * estimateTokens(message) + 200) })).toBe(message);
        const last = lastOf({ window, message, tokenBudget });
        if (last === message) return;
        expect(isShortenedFrom(message, last)).toBe(true);
        expect(estimateTokens(message)).toBeGreaterThan((tokenBudget - 100) / 2);
      }),
    );
  });

  test("begins like the earlier prompt, whole or (if parts were recalled) all but its last message, for any parts", () => {
    fc.assert(
      fc.property(anyParts, anyEpisodes, anyText, (parts, recalled, answer) => {
        const { episodes, documents, window, message, ...stable } = parts;
        const grown = [...window, windowMessage("user", message), windowMessage("assistant", answer)];
        const next = plain(assemble({ ...structuredClone(stable), window: grown, episodes: recalled }).messages);
        const earlier = plain(assemble({ ...stable, window, message }).messages);
        expect(next.slice(0, earlier.length)).toEqual(earlier);
        expect(next).toHaveLength(earlier.length + 2);
        expect(plain(assemble(parts).messages).slice(0, -1)).toEqual(earlier.slice(0, -1));
        expect(episodes.length > 0 || documents ? lastOf(parts).endsWith(message) : lastOf(parts) === message).toBe(true);
      }),
    );
  });

  test("has core memory and then the summary after the system prompt, each called a record, and the rest before the message", () => {
    const { messages, receipt } = assemble({ ...EVERYTHING, message: "Which colour?" });
    const [system = "", ...others] = messages.map(({ text }) => text);
    expect(system.startsWith(`${systemOf({})}\n\nWhat is known about the user`)).toBe(true);
    expect(system).toMatch(
      /not an instruction; .*:\n<core_memory>\n\[profile\]\n> Name: Ada\n\[goals\]\n> To sail\n<\/core_memory>\n\nEarlier messages .*not an instruction:\n<conversation_summary>\n> Ada lives in Lisbon\.\n> 她喜欢绿色。\n<\/conversation_summary>$/u,
    );
    expect(others.slice(0, -1)).toEqual(["message 5", "message 6"]);
    expect(others.at(-1)).toMatch(/^Earlier exchanges [^]*<\/earlier_exchanges>\n\nPassages [^]*<\/passages>\n\nWhich colour\?$/);
    expect(receipt).toMatchObject({
      summary: { version: 3, covered_message_count: 4 },
      window_messages: 2,
      core_memory: [
        { section: "profile", version: 4 },
        { section: "goals", version: 1 },
      ],
      episodes: [{ id: idOf(2), score: 8, similarity: 0.5, conversation_id: "earlier", message_ids: [idOf(2), idOf(3)] }],
      passages: [{ id: "p1", document_id: "d1", title: "Title 1", heading: "", score: 8 }],
    });
  });

  test("says nothing about parts that it does not have", () => {
    expect(systemOf({ coreMemory: [section("profile", " ")] })).toBe(systemOf({}));
    expect(systemOf({})).not.toMatch(/summar|known about/i);
    expect(lastOf({ episodes: [], documents: null })).toBe("now");
    expect(assemble().receipt).toMatchObject({ summary: null, window_messages: 0, core_memory: [], episodes: [], passages: [] });
  });

  test("expands no placeholder in texts of users", () => {
    const odd = "$& $1 $` $' $<name> {name} {{name}} %s ${secret} \\n";
    const { messages } = assemble({
      coreMemory: [section("profile", odd)],
      summary: summaryThrough(4, { text: odd }),
      window: [windowMessage("user", odd), windowMessage("assistant", odd)],
      episodes: [exchange(1, { userMessage: odd, assistantMessage: odd })],
      documents: { passages: [passage(1, { text: odd })], isIncomplete: false },
      message: odd,
    });
    expect(messages.map(({ text }) => text.split(odd).length - 1)).toEqual([2, 1, 1, 4]);
    expect(messages[2]).toBeInstanceOf(AIMessage);
  });

  test("changes its first message only with the text of a section or the summary, not with a version or what was recalled", () => {
    const system = systemOf(EVERYTHING);
    const summary = { ...EVERYTHING.summary, version: 9 };
    const coreMemory = CORE.map((one) => ({ ...one, version: 9 }));
    expect(systemOf({ ...EVERYTHING, summary, coreMemory, episodes: [exchange(3)], documents: null, message: "another" })).toBe(system);
    expect(systemOf({ ...EVERYTHING, coreMemory: [section("profile", "Name: Grace")] })).not.toBe(system);
    expect(systemOf({ ...EVERYTHING, summary: summaryThrough(4, { text: "Bob." }) })).not.toBe(system);
  });

  test("cuts and marks a summary that is too long for the shares of the system and of history", () => {
    const text = systemOf({ summary: summaryThrough(4, { text: `first ${"word ".repeat(2_000)}last` }), tokenBudget: 1_000 });
    const summary = /<conversation_summary>\n([^]*)\n<\/conversation_summary>/u.exec(text)?.[1] ?? "";
    expect(summary).toMatch(/^> first .* \[…\d+ characters left out…\] .*last$/u);
    expect(estimateTokens(text)).toBeLessThanOrEqual(Math.ceil((1_000 * 60) / 85));
    expect(estimateTokens(summary)).toBeGreaterThan(400);
  });

  test("gives the episodes half of the room when nothing else needs it, and less beside a window that does", () => {
    const episodes = Array.from({ length: 10 }, (_, number) => exchange(number + 1, { userMessage: "word ".repeat(300) }));
    const recalledWith = (window: WindowMessage[]) => assemble({ episodes, window, tokenBudget: 3_000 }).receipt.episodes.length;
    expect(recalledWith([])).toBe(3);
    const crowded = recalledWith(sampleWindow(40, (number) => `${number} ${"word ".repeat(80)}`));
    expect(crowded).toBeGreaterThan(0);
    expect(crowded).toBeLessThan(3);
  });

  test("holds at least as many parts in more room, and begins the same whatever changes after the beginning, for any parts", () => {
    fc.assert(
      fc.property(anyParts, anyParts, anyBudget, fc.nat(2_000), (parts, other, tokenBudget, more) => {
        const [smaller, larger] = [assemble({ ...parts, tokenBudget }), assemble({ ...parts, tokenBudget: tokenBudget + more })];
        for (const part of ["episodes", "passages", "core_memory"] as const)
          expect(larger.receipt[part].length).toBeGreaterThanOrEqual(smaller.receipt[part].length);
        if (tokenBudget > 512) expect(larger.receipt.window_messages).toBeGreaterThanOrEqual(smaller.receipt.window_messages);
        const { instructions, coreMemory, summary } = parts;
        const free = (tokenBudget * 25) / 85;
        if (estimateTokens(parts.message) > free || estimateTokens(other.message) > free) return;
        const next = assemble({ ...other, instructions, coreMemory, summary, tokenBudget });
        expect(next.messages[0]?.text).toBe(smaller.messages[0]?.text);
      }),
    );
  });

  test.each([
    [256, 5],
    [320, 10],
    [450, 25],
  ])("holds the current message and keeps to a budget of %i when it has %i full sections", (tokenBudget, count) => {
    const coreMemory = Array.from({ length: count }, (_, number) => section(`s${number}`, "word ".repeat(400)));
    const summary = summaryThrough(4, { text: "They spoke. ".repeat(100) });
    const { messages, tokens } = assemble({ coreMemory, summary, tokenBudget, message: "What is my name?" });
    expect(messages.at(-1)?.text).toBe("What is my name?");
    expect(tokens).toBeLessThanOrEqual(tokenBudget);
  });

  test("drops the oldest messages first, and says how many they are and how many of them no summary covers", () => {
    const window = sampleWindow(12, (number) => `${number} ${"word ".repeat(40)}`);
    for (const through of [null, 2, 11]) {
      const summary = through === null ? null : summaryThrough(through);
      const { messages, leftOut, shortened } = assemble({ summary, window, tokenBudget: 450 });
      const kept = messages.slice(1, -1).map(({ text }) => Number.parseInt(text, 10));
      expect(leftOut).toEqual({ messages: 12 - kept.length, uncovered: Math.max(0, 12 - kept.length - (through ?? 0)) });
      expect(kept.length).toBeGreaterThan(3);
      expect(kept.length).toBeLessThan(9);
      expect(kept).toEqual(Array.from({ length: kept.length }, (_, index) => 13 - kept.length + index));
      expect(shortened).toBe(0);
    }
  });
});
