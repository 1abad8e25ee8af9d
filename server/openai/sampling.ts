import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { schemaProblem } from "../../models/wire/answer-form.ts";
import { isTooDeep } from "../../text/nesting.ts";
import { ModelOptions, type ResponseFormat } from "../../turn/model-options.ts";
import { TOO_DEEP } from "../http/parse-request.ts";

const { temperature, top_p, max_tokens, stop, seed, presence_penalty, frequency_penalty, reasoning_effort, parallel_tool_calls } =
  ModelOptions.shape;

/** Clients send null for what they leave open. */
const orNull = <Field extends z.ZodOptional>(field: Field) => field.nullable();

/** The fields of a request that reach the model unchanged. */
export const samplingFields = {
  temperature: orNull(temperature),
  top_p: orNull(top_p),
  max_tokens: orNull(max_tokens),
  max_completion_tokens: orNull(max_tokens),
  stop: orNull(stop),
  seed: orNull(seed),
  presence_penalty: orNull(presence_penalty),
  frequency_penalty: orNull(frequency_penalty),
  reasoning_effort: orNull(reasoning_effort),
  parallel_tool_calls: orNull(parallel_tool_calls),
  logprobs: z.literal(false, "is not known here: answers come without the probabilities of their tokens").nullish(),
  top_logprobs: z.literal(0, "is not known here: answers come without the probabilities of their tokens").nullish(),
};

const anySchema = z.record(z.string(), z.unknown(), "must be a JSON schema").refine((schema) => !isTooDeep(schema), TOO_DEEP);

export const responseFormatField = z
  .discriminatedUnion(
    "type",
    [
      z.looseObject({ type: z.literal("text") }),
      z.looseObject({ type: z.literal("json_object") }),
      z.looseObject({
        type: z.literal("json_schema"),
        json_schema: z.looseObject({ name: z.string("must be a text").optional(), schema: anySchema }, "must be an object with a schema"),
      }),
    ],
    "must be an object whose type is text, json_object or json_schema",
  )
  .nullish();

type Sampling = { [Name in keyof typeof samplingFields]?: z.infer<(typeof samplingFields)[Name]> };

/** The set fields by the names of the model's server. */
export function toSampling(request: Sampling): ModelOptions {
  const given = Object.fromEntries(
    Object.keys(samplingFields).map((name) => [name, request[name as keyof Sampling] ?? undefined]),
  ) as ModelOptions & { max_completion_tokens?: number };
  return ModelOptions.parse({ ...given, max_tokens: given.max_completion_tokens ?? given.max_tokens });
}

/** Throws AppError `invalid_request` for a schema that cannot check anything. */
export function toResponseFormat(format: z.infer<typeof responseFormatField>, field: string): ResponseFormat | undefined {
  if (!format || format.type === "text") return undefined;
  const problem = schemaProblem(format);
  if (problem !== null) throw AppError.invalid([{ field, problem }]);
  return format;
}
