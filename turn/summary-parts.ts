import { z } from "zod";

/** A model may write one text for a list, or null for nothing. */
const items = z
  .union([z.array(z.string()), z.string().transform((text) => [text]), z.null().transform(() => [])])
  .transform((list) => list.map((item) => item.replace(/\s+/gu, " ").trim()).filter((item) => item !== ""))
  .default(() => []);

/** The eight parts of a conversation beside its summary's text. */
export const SummaryParts = z.object({
  core_goal: z
    .union([z.string(), z.null().transform(() => "")])
    .transform((text) => text.replace(/\s+/gu, " ").trim())
    .default("")
    .describe("What the user wants in the end."),
  key_decisions: items.describe("What was decided."),
  important_facts: items.describe("Names, numbers, dates and places."),
  pending_tasks: items.describe("What is still to be done."),
  user_preferences: items.describe("How the user wants things."),
  context_clues: items.describe("What else one has to know to go on."),
  unresolved_issues: items.describe("Questions and problems without an answer."),
  next_steps: items.describe("What comes next."),
});
export type SummaryParts = z.infer<typeof SummaryParts>;

const LABELS: Readonly<Record<keyof SummaryParts, { en: string; zh: string }>> = {
  core_goal: { en: "Goal", zh: "目标" },
  key_decisions: { en: "Decisions", zh: "决定" },
  important_facts: { en: "Facts", zh: "事实" },
  pending_tasks: { en: "To do", zh: "待办" },
  user_preferences: { en: "Preferences", zh: "偏好" },
  context_clues: { en: "Context", zh: "背景" },
  unresolved_issues: { en: "Open", zh: "未解决" },
  next_steps: { en: "Next", zh: "下一步" },
};
export const PART_NAMES = Object.keys(LABELS) as (keyof SummaryParts)[];

const HAN = /\p{Script=Han}/gu;
const LETTER = /\p{L}/gu;
const isChinese = (text: string): boolean => 3 * (text.match(HAN)?.length ?? 0) > (text.match(LETTER)?.length ?? 0);

/** One labelled line for each filled part, in the language of its text. */
export function partLines(parts: SummaryParts): string {
  const texts = PART_NAMES.map((name) => [name, [parts[name]].flat()] as const).filter(([, list]) => list.some((item) => item !== ""));
  const language = isChinese(texts.flatMap(([, list]) => list).join("")) ? "zh" : "en";
  const [colon, comma] = language === "zh" ? ["：", "；"] : [": ", "; "];
  return texts.map(([name, list]) => `${LABELS[name][language]}${colon}${list.join(comma)}`).join("\n");
}

export const hasParts = (parts: SummaryParts): boolean => partLines(parts) !== "";
