import { z } from "zod";

/** A tool in OpenAI's form, as the caller wrote it. */
export const CallerTool = z.looseObject({
  type: z.literal("function"),
  function: z.looseObject({
    name: z.string(),
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
  }),
});
/** A tool in OpenAI's form, as the caller wrote it. */
export type CallerTool = z.infer<typeof CallerTool>;

/** Tools that the caller of a turn runs itself. With `mustCall` the turn ends with calls of them. */
export const CallerTools = z.object({ tools: z.array(CallerTool).min(1), mustCall: z.boolean() });
/** Tools that the caller of a turn runs itself. With `mustCall` the turn ends with calls of them. */
export type CallerTools = z.infer<typeof CallerTools>;
