import { z } from "zod";

/** Far more than any server takes. */
const MAX_STOPS = 16;
const LONGEST_STOP = 500;

const number = z.number("must be a number");
const tokens = z.int("must be a whole number of tokens").min(1, "must be 1 or more");
const stop = z.string("must be a text, or an array of texts").max(LONGEST_STOP, `is longer than ${LONGEST_STOP} characters`);

/** The form of an answer. A server may ignore it, so the service checks. */
export const ResponseFormat = z.union([
  z.looseObject({ type: z.literal("text") }),
  z.looseObject({ type: z.literal("json_object") }),
  z.looseObject({
    type: z.literal("json_schema"),
    json_schema: z.looseObject({ name: z.string().optional(), schema: z.record(z.string(), z.unknown()).optional() }),
  }),
]);
export type ResponseFormat = z.infer<typeof ResponseFormat>;

export const ModelOptions = z.object({
  temperature: number.optional(),
  top_p: number.optional(),
  max_tokens: tokens.optional(),
  stop: z.union([stop, z.array(stop).max(MAX_STOPS, `has more than ${MAX_STOPS} entries`)]).optional(),
  seed: z.int("must be a whole number").optional(),
  presence_penalty: number.optional(),
  frequency_penalty: number.optional(),
  reasoning_effort: z.string("must be a text").max(40, "is no known effort").optional(),
  parallel_tool_calls: z.boolean("must be true or false").optional(),
  response_format: ResponseFormat.optional(),
  tool_choice: z.literal("required").optional(),
  /** False when nobody reads along: an answer in a form is then shown only when it is right. */
  stream: z.boolean().optional(),
});
/** How the model is called in one turn, named as in OpenAI's protocol. The service or the agent sets what is left out. */
export type ModelOptions = z.infer<typeof ModelOptions>;
