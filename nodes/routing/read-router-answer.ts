import type { AIMessageChunk } from "@langchain/core/messages";
import { z } from "zod";
import { storableText } from "../../stores/search/storable-text.ts";

/** The router model's one tool. */
export const ROUTER_TOOL = "route";

/** What a router model answers. `reason` is for people: one that is missing spoils nothing. */
export const RouterAnswer = z.object({
  kb_prefix: z.string(),
  confidence: z.number().min(0).max(1),
  reason: z
    .string()
    .default("")
    .transform((reason) => storableText(reason.slice(0, 300))),
});
export type RouterAnswer = z.infer<typeof RouterAnswer>;

/** The object in a text: the text itself, or what a code fence or the model's thoughts stand around. */
function parseObject(text: string): unknown {
  try {
    return JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1));
  } catch {
    return undefined;
  }
}

/** The answer in a model's message, by its tool or in its text; null when there is none, or one that names none of `prefixes`. */
export function readRouterAnswer(message: AIMessageChunk, prefixes: readonly string[]): RouterAnswer | null {
  const calls = (message.tool_calls ?? []).filter(({ name }) => name === ROUTER_TOOL).map(({ args }): unknown => args);
  for (const candidate of [...calls, parseObject(message.text)]) {
    const answer = RouterAnswer.safeParse(candidate);
    if (answer.success && prefixes.includes(answer.data.kb_prefix)) return answer.data;
  }
  return null;
}
