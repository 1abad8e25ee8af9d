import type { ModelServer } from "../../servers/model-server.ts";

export const SUMMARY_MODEL = "test-summary";
const FACT = /fact-\d{4}[qa]/g;

/** What is said in a turn: its question, and the answer that `answerWithFacts` gives to it. */
export const question = (turn: number): string => `fact-${String(turn).padStart(4, "0")}q`;
export const answerTo = (asked: string): string => `${asked.slice(0, -1)}a`;

/** The facts that a text names, in order and as often as it does. */
export const factsIn = (text: string): string[] => text.match(FACT) ?? [];

/**
 * Makes the model answer each fact with its own, and summarise by naming every fact of the prompt; a summary takes 50 to 400 ms every
 * other time and fails `failures` times in ten.
 */
export function answerWithFacts(model: ModelServer, random: (below: number) => number, failures: number): void {
  model.answer(({ model: name, messages }) => {
    if (name !== SUMMARY_MODEL) return { tokens: ["noted ", answerTo(messages.at(-1)?.content ?? "")], betweenMs: random(40) };
    if (random(10) < failures) return { status: 500 };
    const facts = messages.flatMap(({ content }) => factsIn(content));
    return { tokens: [facts.join(" ")], firstTokenMs: random(2) * (50 + random(350)) };
  });
}
