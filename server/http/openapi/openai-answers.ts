import { z } from "zod";

/** The answers of OpenAI's protocol: https://platform.openai.com/docs/api-reference/chat */
export const OpenAIModel = z.object({ id: z.string(), object: z.literal("model"), created: z.int(), owned_by: z.string() });

export const OpenAIModelList = z.object({ object: z.literal("list"), data: z.array(OpenAIModel) });

const toolCall = z.object({
  id: z.string(),
  type: z.literal("function"),
  function: z.object({ name: z.string(), arguments: z.string() }),
});
const finishReason = z.enum(["stop", "length", "tool_calls"]);
const usage = z.object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() });
const facts = { id: z.string(), created: z.int().describe("Seconds since 1970."), model: z.string() };

export const Completion = z.object({
  ...facts,
  object: z.literal("chat.completion"),
  choices: z.array(
    z.object({
      index: z.int(),
      message: z.object({
        role: z.literal("assistant"),
        content: z.string().nullable(),
        refusal: z.null(),
        tool_calls: z.array(toolCall).optional(),
      }),
      logprobs: z.null(),
      finish_reason: finishReason,
    }),
  ),
  usage,
});

export const CompletionChunk = z.object({
  ...facts,
  object: z.literal("chat.completion.chunk"),
  choices: z.array(
    z.object({
      index: z.int(),
      delta: z.object({
        role: z.literal("assistant").optional(),
        content: z.string().optional(),
        tool_calls: z.array(toolCall.extend({ index: z.int() })).optional(),
      }),
      logprobs: z.null(),
      finish_reason: finishReason.nullable(),
    }),
  ),
  usage: usage.nullish(),
});

export const OpenAIErrorAnswer = z.object({
  error: z.object({ message: z.string(), type: z.string(), param: z.string().nullable(), code: z.string() }),
});
