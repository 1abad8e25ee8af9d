import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { CoreSection } from "../../../turn/state.ts";
import { estimateTokens, TOKENS_PER_MESSAGE } from "../../../text/tokens.ts";
import { assemblePrompt, type PromptParts } from "../../../nodes/prompt/assemble-prompt.ts";
import { anyText } from "../../support/samples/any-text.ts";
import { anySummary, anyWindow, summaryThrough, windowMessage } from "../../support/samples/sample-window.ts";

const NO_LIMIT = 10_000_000;
const CORE: CoreSection[] = [
  { section: "profile", content: "Name: Ada", version: 4 },
  { section: "goals", content: "To sail", version: 1 },
];
const anyCore = fc
  .uniqueArray(fc.tuple(fc.constantFrom("profile", "preferences", "goals", "relationships", "constraints"), anyText), {
    selector: ([name]) => name,
  })
  .map((given): CoreSection[] =>
    given.map(([section, text], number) => ({ section, content: [...text].slice(0, 2_000).join(""), version: number + 1 })),
  );

const assemble = (parts: Partial<PromptParts> = {}) =>
  assemblePrompt({ summary: null, window: [], message: "now", tokenBudget: NO_LIMIT, ...parts });
const systemOf = (parts: Partial<PromptParts>): string => assemble(parts).messages[0]?.text ?? "";

describe("a prompt with core memory", () => {
  test("has it in the system message, after the system prompt and before the summary", () => {
    const plain = systemOf({});
    const whole = systemOf({ coreMemory: CORE, summary: summaryThrough(4) });
    expect(whole.startsWith(`${plain}\n\nWhat is known about the user`)).toBe(true);
    const places = [whole.indexOf("<core_memory>"), whole.indexOf("</core_memory>"), whole.indexOf("<conversation_summary>")];
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(whole).toMatch(/<core_memory>\n\[profile\]\n> Name: Ada\n\[goals\]\n> To sail\n<\/core_memory>\n\nEarlier messages/);
  });

  test("without any sections says nothing of core memory", () => {
    expect(systemOf({ coreMemory: [] })).toBe(systemOf({}));
    expect(systemOf({ coreMemory: [{ section: "profile", content: " ", version: 2 }] })).toBe(systemOf({}));
  });

  test("property: its receipt lists exactly the sections that are in it, with their versions", () => {
    fc.assert(
      fc.property(
        anyCore,
        anySummary,
        anyWindow,
        anyText,
        fc.integer({ min: 256, max: 6_000 }),
        (coreMemory, summary, window, message, tokenBudget) => {
          const { messages, receipt } = assemble({ coreMemory, summary, window, message, tokenBudget });
          const text = messages[0]?.text ?? "";
          const fenced = /<core_memory>\n([^]*?)\n<\/core_memory>/u.exec(text)?.[1] ?? "";
          const filled = coreMemory.filter(({ content }) => content.trim() !== "");
          const all = filled.map(({ section, version }) => ({ section, version }));
          expect(receipt.core_memory).toEqual(all.slice(0, receipt.core_memory.length));
          if (tokenBudget >= 2_000) expect(receipt.core_memory).toEqual(all);
          for (const { section } of receipt.core_memory) expect(fenced).toContain(`[${section}]`);
          expect(fenced === "").toBe(receipt.core_memory.length === 0);
        },
      ),
    );
  });

  test("property: is within its budget and says how many tokens it has", () => {
    fc.assert(
      fc.property(
        anyCore,
        anySummary,
        anyWindow,
        anyText,
        fc.integer({ min: 512, max: 6_000 }),
        (coreMemory, summary, window, message, tokenBudget) => {
          const { messages, tokens } = assemble({ coreMemory, summary, window, message, tokenBudget });
          const counted = messages.reduce((sum, { text }) => sum + estimateTokens(text) + TOKENS_PER_MESSAGE, 0);
          expect(tokens).toBeGreaterThanOrEqual(counted);
          expect(tokens).toBeLessThanOrEqual(counted + 4); // each part is rounded up by itself, and a blank line stands between two
          expect(tokens).toBeLessThanOrEqual(tokenBudget);
        },
      ),
    );
  });

  test("property: the next turn's prompt begins with the same bytes while no section changes", () => {
    fc.assert(
      fc.property(anyCore, anySummary, anyWindow, anyText, anyText, (coreMemory, summary, window, message, nextMessage) => {
        const earlier = assemble({ coreMemory, summary, window, message }).messages.map(({ type, text }) => ({ type, text }));
        const nextWindow = [...window, windowMessage("user", message), windowMessage("assistant", "Yes.")];
        const next = assemble({ coreMemory: structuredClone(coreMemory), summary, window: nextWindow, message: nextMessage });
        expect(next.messages.slice(0, earlier.length).map(({ type, text }) => ({ type, text }))).toEqual(earlier);
      }),
    );
  });

  test("keeps its first message byte for byte when another turn recalls episodes, or a section's version alone rises", () => {
    const episode = {
      id: "e",
      score: 1,
      conversationId: "c",
      messageIds: ["e", "f"],
      userMessage: "I like green.",
      assistantMessage: "Noted.",
      createdAt: "2024-01-31T12:00:00.000Z",
    };
    const plain = systemOf({ coreMemory: CORE });
    expect(systemOf({ coreMemory: CORE, episodes: [episode], message: "another" })).toBe(plain);
    expect(systemOf({ coreMemory: CORE.map((section) => ({ ...section, version: 9 })) })).toBe(plain);
  });

  test("differs only behind the system prompt when a section has changed", () => {
    const changed = systemOf({ coreMemory: [{ section: "profile", content: "Name: Grace", version: 5 }] });
    const plain = systemOf({});
    expect(changed.startsWith(plain)).toBe(true);
    expect(changed).toContain("Name: Grace");
  });

  test.each([
    [256, 5],
    [320, 10],
    [450, 25],
  ])("with a budget of %i and %i full sections holds the current message and is not over it", (tokenBudget, count) => {
    const coreMemory = Array.from({ length: count }, (_, number) => ({ section: `s${number}`, content: "word ".repeat(400), version: 1 }));
    const summary = summaryThrough(4, { text: "They spoke. ".repeat(100) });
    const { messages, tokens } = assemble({ coreMemory, summary, tokenBudget, message: "What is my name?" });
    expect(messages.at(-1)?.text).toBe("What is my name?");
    expect(tokens).toBeLessThanOrEqual(tokenBudget);
  });
});
