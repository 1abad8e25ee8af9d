import { z } from "zod";

/** Tokens of a model call; `estimated` when the model's server sent none. */
export const Usage = z.object({
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  total_tokens: z.number(),
  estimated: z.boolean(),
});

export type Usage = z.infer<typeof Usage>;

/** `usage_ratio`: the prompt's share of `context_limit`, the most tokens it may have; null where a handler answered. */
export const TurnUsage = Usage.extend({
  cached_tokens: z.number().nullable().describe("Prompt tokens that the model's server had cached. Null: it does not tell."),
  context_limit: z.number().nullable(),
  usage_ratio: z.number().nullable(),
});

export type TurnUsage = z.infer<typeof TurnUsage>;

/** The usage of an answer without a prompt. */
export const NO_CONTEXT = { cached_tokens: null, context_limit: null, usage_ratio: null } as const;

export const Cost = z
  .object({ input_usd: z.number(), output_usd: z.number() })
  .nullable()
  .describe("In US dollars. Null when the model's prices are unknown, or its server counted no tokens.");

export type Cost = z.infer<typeof Cost>;
