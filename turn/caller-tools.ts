import { z } from "zod";
import { Picture } from "./picture.ts";

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

/** A call of a caller's tool, in the words of the model. */
export const CallerCall = z.object({ id: z.string(), name: z.string(), arguments: z.string() });
/** A call of a caller's tool, in the words of the model. */
export type CallerCall = z.infer<typeof CallerCall>;

/** Results of calls with which an earlier turn has ended. Pictures are shown in this turn alone. */
export const CallResults = z.object({ calls: z.array(CallerCall.extend({ output: z.string() })), pictures: z.array(Picture) });
/** Results of calls with which an earlier turn has ended. Pictures are shown in this turn alone. */
export type CallResults = z.infer<typeof CallResults>;
