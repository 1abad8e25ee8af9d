import { z } from "zod";
import { isTooDeep } from "../text/nesting.ts";
import { mayBeUnstorable } from "../text/storable-text.ts";
import { list, text, toolPattern, whole } from "./spec-fields.ts";

const MOST_RULES = 50;
const MOST_PATHS = 20;
const MOST_CHARACTERS = 4_000;
const MOST_LEVELS = 20;
const MOST = 1_000_000_000;

const agentPattern = z.string().regex(/^[a-z0-9*-]{1,64}$/, "must be the name of an agent; * stands for any characters");
const PATH = "must be names with dots between them, of at most 200 characters";
const path = z.string().refine((text) => text.length <= 200 && !text.split(".").includes("") && !mayBeUnstorable(text), PATH);

const jsonOf = (value: unknown): string => JSON.stringify(value) ?? "";
const value = z
  .unknown()
  .refine((given) => given !== undefined && !isTooDeep(given, MOST_LEVELS), `must be JSON of at most ${MOST_LEVELS} levels`)
  .refine((given) => !mayBeUnstorable(jsonOf(given)), "holds a NUL character or half of a surrogate pair")
  .refine((given) => jsonOf(given).length <= MOST_CHARACTERS, `has more than ${MOST_CHARACTERS} characters`);

const Pattern = z.strictObject({ pattern: z.unknown() });
const isPattern = (given: unknown): boolean => Pattern.safeParse(given).success;

/** The text in which `*` stands for any characters; null: the condition is a value. */
export const patternOf = (given: unknown): string | null => (isPattern(given) ? (given as { pattern: string }).pattern : null);

const byPath = (item: z.ZodType, about: string) =>
  z
    .record(path, item, { error: ({ code }) => (code === "invalid_type" ? "must be an object of values by path" : PATH) })
    .refine((paths) => Object.keys(paths).length > 0, "is empty")
    .refine((paths) => Object.keys(paths).length <= MOST_PATHS, `has more than ${MOST_PATHS} entries`)
    .describe(about);
const expected = value.refine((given) => !isPattern(given) || typeof patternOf(given) === "string", "must be a value, or {pattern: text}");

const USD = `must be a number between 0 and ${MOST}`;

const Condition = z
  .strictObject(
    {
      tool: toolPattern.optional(),
      agent: agentPattern.optional().describe("The member that is to do a task; of other calls the agent that calls."),
      arguments: byPath(
        expected,
        "By path, as `order.total`: the value, or `{pattern}` in which * stands for any characters of the whole value.",
      ).optional(),
      calls_over: whole(0, MOST).optional().describe("2: from the third call of the tool in a turn, members' calls included."),
      cost_over: z.number(USD).min(0, USD).max(MOST, USD).optional().describe("US dollars of the turn so far. Not when they are unknown."),
      step_over: whole(0, MOST).optional().describe("Answers of the model in this run of its agent."),
    },
    { error: ({ code }) => (code === "invalid_type" ? "must be an object of conditions" : undefined) },
  )
  .refine((when) => Object.values(when).some((value) => value !== undefined), "needs at least one condition");

export const RuleAction = z.enum(["refuse", "ask", "correct"], "must be refuse, ask or correct");

/** A condition on a call of a tool or a task for a member, and what it does then. */
export const Rule = z
  .strictObject(
    {
      name: text(100),
      when: Condition.describe("All of them have to hold."),
      priority: z
        .int(`must be a whole number between -${MOST} and ${MOST}`)
        .min(-MOST)
        .max(MOST)
        .default(10)
        .describe("The smallest first. Of equals an agent's own first, in order."),
      action: RuleAction.describe(
        "refuse: the model reads the message; ask: somebody is asked, with the message; correct: `set` changes the arguments.",
      ),
      message: text(1_000),
      set: byPath(value, "Of correct: new values by path.").optional(),
    },
    { error: ({ code }) => (code === "invalid_type" ? "must be an object" : undefined) },
  )
  .superRefine(({ action, set }, context) => {
    if ((action === "correct") === (set !== undefined)) return;
    context.addIssue({
      code: "custom",
      path: ["set"],
      message: set ? "is of the action correct alone" : "is missing: it says what is corrected",
    });
  });
export type Rule = z.infer<typeof Rule>;

export const Rules = list(Rule, MOST_RULES);
