import { z } from "zod";
import { shownArguments } from "../text/tool-arguments.ts";

/** `client_tool`: calls that only the caller can run. */
export const QuestionType = z.enum(["permission", "clarification", "decision", "client_tool"]);
export type QuestionType = z.infer<typeof QuestionType>;

export const QuestionOption = z.object({ label: z.string(), description: z.string(), is_recommended: z.boolean() });
export type QuestionOption = z.infer<typeof QuestionOption>;

const anyArguments = z.unknown().describe("An object, or the text that the model sent when it is no JSON.");

/** What a turn asks and waits for. */
export const Question = z.object({
  id: z.uuid(),
  type: QuestionType,
  agent: z.string().describe("The agent that asks."),
  path: z.array(z.string()).describe("The agents from the one that answers to the one that asks."),
  question: z.string(),
  options: z.array(QuestionOption).describe("One of their labels is the answer, or several where `allow_multiple` says so."),
  allow_multiple: z.boolean(),
  required: z.boolean().describe("Without an answer the turn fails with `question_unanswered`."),
  tool: z.object({ name: z.string(), arguments: anyArguments }).optional().describe("Of a permission: the call that is to run."),
  sign_in: z
    .object({ server: z.string(), url: z.string().describe("Where the user signs in. It counts for ten minutes.") })
    .optional()
    .describe("Of a request to sign in at an MCP server."),
  calls: z
    .array(z.object({ call_id: z.string(), name: z.string(), arguments: anyArguments }))
    .optional()
    .describe("Of `client_tool`: what the caller is to run."),
  expires_at: z.iso.datetime(),
});
export type Question = z.infer<typeof Question>;

/** One label, several, or null: only the person's own words, or nothing. */
export const AnswerValue = z.union([z.string(), z.array(z.string())]).nullable();
export type AnswerValue = z.infer<typeof AnswerValue>;

export const AnsweredBy = z.enum(["person", "timeout", "rule"]);
export type AnsweredBy = z.infer<typeof AnsweredBy>;

export const PERMISSION_ANSWERS = ["allow_once", "allow_always", "deny"] as const;

export const LOOP_ANSWERS = ["stop", "continue", "correct", "skip"] as const;

export const STEP_ANSWERS = ["step", "run", "stop"] as const;

export const SIGN_IN_ANSWERS = ["signed_in", "skip"] as const;

/** Whether these are the only answers to the question. */
export const isAnsweredBy = ({ options }: Pick<Question, "options">, answers: readonly string[]): boolean =>
  options.length === answers.length && options.every(({ label }, index) => label === answers[index]);

export const AnsweredQuestion = z.object({ question_id: z.uuid(), answer: AnswerValue, by: AnsweredBy });

/** A question before it is stored. */
export interface NewQuestion {
  type: QuestionType;
  question: string;
  options: Question["options"];
  allow_multiple?: boolean;
  required?: boolean;
  /** The call with its arguments as the model sent them. `digest`: a permission's tool as it is now, for a lasting answer. */
  tool?: { name: string; arguments: string; digest?: string };
  sign_in?: Question["sign_in"];
  calls?: { call_id: string; name: string; arguments: string }[];
  /** What counts when nobody answers; null: nothing does. */
  ifUnanswered: AnswerValue;
  timeoutMs: number;
}

/** A question as stored: the arguments of calls are the model's text. */
export interface QuestionParts {
  id: string;
  type: QuestionType;
  agent: string;
  content: Pick<NewQuestion, "question" | "options" | "tool" | "sign_in" | "calls"> & {
    allow_multiple: boolean;
    required: boolean;
    /** Missing: the agent alone. */
    path?: readonly string[];
  };
  expiresAt: Date;
}

export const shownTool = ({ name, arguments: given }: { name: string; arguments: string }) => ({
  name,
  arguments: shownArguments({ arguments: given }),
});

/** As clients see it. */
export function toQuestion({ id, type, agent, content, expiresAt }: QuestionParts): Question {
  const { question, options, allow_multiple, required, tool, sign_in, calls } = content;
  return {
    ...{ id, type, agent, path: [...(content.path ?? [agent])], question, options, allow_multiple, required },
    ...(tool && { tool: shownTool(tool) }),
    ...(sign_in && { sign_in }),
    ...(calls && { calls: calls.map((call) => ({ call_id: call.call_id, ...shownTool(call) })) }),
    expires_at: expiresAt.toISOString(),
  };
}

export function contentOf({
  question,
  options,
  allow_multiple = false,
  required = false,
  tool,
  sign_in,
  calls,
}: NewQuestion): QuestionParts["content"] {
  return { question, options, allow_multiple, required, ...(tool && { tool }), ...(sign_in && { sign_in }), ...(calls && { calls }) };
}
