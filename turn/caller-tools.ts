import { z } from "zod";
import { Picture } from "./picture.ts";

export const CallerTool = z.looseObject({
  type: z.literal("function"),
  function: z.looseObject({
    name: z.string(),
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
  }),
});
export type CallerTool = z.infer<typeof CallerTool>;

export const CallerTools = z.object({ tools: z.array(CallerTool).min(1), mustCall: z.boolean() });
/** Tools that the caller of a turn runs itself. `mustCall`: the turn ends with calls of them. */
export type CallerTools = z.infer<typeof CallerTools>;

export const CallerCall = z.object({ id: z.string(), name: z.string(), arguments: z.string() });
/** A call of a caller's tool, in the model's words. */
export type CallerCall = z.infer<typeof CallerCall>;

export const CallResults = z.object({ calls: z.array(CallerCall.extend({ output: z.string() })), pictures: z.array(Picture) });
/** Results of calls that ended an earlier turn. Only this turn shows the pictures. */
export type CallResults = z.infer<typeof CallResults>;
