import { z } from "zod";

/** Estimated; `message` is the user's, with its attachments and the answer that is continued. */
export const PromptTokens = z.object({
  system: z.number(),
  instructions: z.number().optional().describe("Of the service, the knowledge base and the caller. Left out without any."),
  core_memory: z.number(),
  summary: z.number(),
  window: z.number(),
  episodes: z.number(),
  passages: z.number(),
  message: z.number(),
  pictures: z
    .number()
    .optional()
    .describe("Of this message and of the last turns, by the rules of the model's maker. Left out without any."),
});
export type PromptTokens = z.infer<typeof PromptTokens>;

/** Instructions in a prompt, without their text. `characters` is the length of the whole, also of what is cut. */
export const GivenInstructions = z.object({
  from: z.enum(["service", "agent", "knowledge", "caller"]),
  hash: z.string().describe("SHA-256 of the whole text, base64url."),
  characters: z.number(),
  cut: z.boolean().describe("True when a part had no room in the prompt."),
});
export type GivenInstructions = z.infer<typeof GivenInstructions>;

/** The memory in the prompt, piece by piece, so that each can be looked up, corrected or erased. */
export const Receipt = z.object({
  summary: z.object({ version: z.number(), covered_message_count: z.number() }).nullable(),
  window_messages: z.number(),
  core_memory: z.array(z.object({ section: z.string(), version: z.number() })),
  episodes: z.array(
    z.object({
      id: z.string(),
      score: z.number(),
      similarity: z.number().nullable().optional().describe("As in the list of episodes; missing in receipts of earlier versions."),
      conversation_id: z.string(),
      message_ids: z.array(z.string()),
    }),
  ),
  passages: z.array(z.object({ id: z.string(), document_id: z.string(), title: z.string(), heading: z.string(), score: z.number() })),
  attachments: z
    .array(z.object({ name: z.string() }))
    .optional()
    .describe("What a front end sent beside the message; no memory."),
  instructions: z.array(GivenInstructions).optional().describe("Left out without any; no memory."),
  /** Null when a handler of a knowledge base answered. */
  prompt_tokens: PromptTokens.nullable(),
});
export type Receipt = z.infer<typeof Receipt>;
