import { z } from "zod";
import type { LeftOut, PromptPreview } from "../../../graph/preview-prompt.ts";
import { shareOf } from "../../../models/facts/prompt-budget.ts";
import { Notice } from "../../../turn/events.ts";
import { Layer, PromptTokens, Receipt, RouteDecision } from "../../../turn/state.ts";

const PARTS = ["instructions", "core_memory", "summary", "window", "episodes", "passages"] as const satisfies LeftOut["part"][];
const REASONS = ["no_room", "summarised", "switched_off", "unavailable"] as const satisfies LeftOut["why"][];

const NextParts = PromptTokens.extend({
  tools: z.int().optional().describe("Of an agent: its tools' names, descriptions and schemas."),
  steps: z.int().optional().describe("Of an agent: calls and results of earlier turns."),
});

export const NextPrompt = z.object({
  route_decision: RouteDecision,
  agent: z.string(),
  context_limit: z.int().describe("The most tokens of a prompt."),
  tokens: z.int().nullable().describe("Estimated. Null when the handler of a knowledge base would answer, as are the fields behind it."),
  usage_ratio: z.number().nullable(),
  parts: NextParts.nullable(),
  receipt: Receipt.nullable().describe("As in `done`: every memory in the prompt, with ids and versions."),
  message_ids: z.array(z.uuid()).nullable().describe("Messages of the window, oldest first."),
  shortened: z.int().nullable().describe("Messages that would be shortened, the given one among them."),
  left_out: z.array(
    z.object({
      part: z.enum(PARTS),
      why: z
        .enum(REASONS)
        .describe(
          "`no_room`: it does not fit, and may be shortened. `summarised`: the summary stands for it. `switched_off`: the agent does not use it. `unavailable`: it could not be read.",
        ),
      ids: z.array(z.string()).describe("Ids of messages, episodes or passages; names of sections; whose instructions."),
      count: z.int().nullable().describe("Null: nobody has counted."),
    }),
  ),
  notices: z.array(Notice),
  degraded: z.array(Layer),
});
export type NextPrompt = z.infer<typeof NextPrompt>;

const NO_PROMPT = { tokens: null, usage_ratio: null, parts: null, receipt: null, message_ids: null, shortened: null, notices: [] };

export function toNextPrompt({ routeDecision, agent, limit, degraded, leftOut, prompt }: PromptPreview): NextPrompt {
  const about = { route_decision: routeDecision, agent, context_limit: limit, left_out: leftOut, degraded };
  if (!prompt) return { ...about, ...NO_PROMPT };
  const { tokens, toolTokens: tools, stepTokens: steps, receipt, messageIds, shortened, notices } = prompt;
  return {
    ...about,
    tokens,
    usage_ratio: shareOf(tokens, limit),
    parts: receipt.prompt_tokens && { ...receipt.prompt_tokens, ...(tools > 0 ? { tools } : {}), ...(steps > 0 ? { steps } : {}) },
    receipt,
    message_ids: messageIds,
    shortened,
    notices,
  };
}
