import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { isTooDeep } from "../../text/nesting.ts";
import { AGENT_NAME } from "../../turn/agent.ts";
import type { Question } from "../../turn/question.ts";
import { callerId, instructionsText, storableText, TOO_DEEP } from "../http/parse-request.ts";
import type { Reply } from "../../agents/questions/answer.ts";
import { type GivenPicture, toGivenPicture } from "../turns/read-parts.ts";

const Part = z.looseObject({ type: z.string("must be a string") });
const UiMessage = z.looseObject(
  {
    id: z.string("must be a string").nullish(),
    role: z.enum(["user", "assistant", "system"], "must be user, assistant or system"),
    parts: z.array(Part, "must be an array of parts").max(10_000),
  },
  "must be a message with role and parts",
);
type UiMessage = z.infer<typeof UiMessage>;

/** What `useChat` sends by its default transport, with the fields of its `body`. */
export const UiMessagesBody = z.looseObject(
  {
    id: callerId.describe("The chat: it is the session."),
    user_id: callerId.nullish().describe("Whose memory is used, unless the token or the header X-User-Id says."),
    messages: z
      .array(UiMessage, "must be an array of messages")
      .min(1, "is empty; send what the user said")
      .refine((messages) => !isTooDeep(messages), TOO_DEEP)
      .describe("The last one counts: what the user says, or what the user answers. History is the service's own."),
    trigger: z.enum(["submit-message", "regenerate-message"], "must be submit-message or regenerate-message").nullish(),
    messageId: z
      .string("must be a string")
      .nullish()
      .describe(
        "With `regenerate-message` the answer to give again, by default the newest; else the message of the user that the last one replaces.",
      ),
    agent: z.string("must be a string").regex(AGENT_NAME, "must be the name of an agent").nullish(),
    kb_prefix: storableText.nullish(),
    model: storableText.nullish(),
    instructions: instructionsText.nullish(),
    on_disconnect: z
      .enum(["cancel", "continue"], "must be cancel or continue")
      .nullish()
      .describe("`continue` for chats that resume. Default: cancel, which is what `stop` does."),
  },
  { error: (issue) => (issue.code === "invalid_type" ? "must be a JSON object with id and messages" : undefined) },
);
export type UiMessagesBody = z.infer<typeof UiMessagesBody>;

/** The pictures of a message. Throws AppError `invalid_request` for a file that is no picture. */
export function picturesOf({ parts }: UiMessage, place: number): GivenPicture[] {
  return parts.flatMap(({ type, mediaType, url }, index) => {
    if (type !== "file") return [];
    const field = `messages.${place}.parts.${index}`;
    if (typeof mediaType === "string" && mediaType.startsWith("image/")) return [toGivenPicture(`${field}.url`, url)];
    const problem = "is a file that is no picture; documents go to POST /api/v1/knowledge/{kb}/documents";
    throw AppError.invalid([{ field, problem }]);
  });
}

export function textOf({ parts }: UiMessage): string {
  return parts.flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : [])).join("\n");
}

const OpenCall = z.looseObject({
  state: z.literal("input-available"),
  toolCallId: z.string(),
  toolName: z.string(),
  input: z.unknown(),
  toolMetadata: z.looseObject({ path: z.array(z.string()) }).optional(),
});

/** The calls that an answer shows without a result. Those of the agent that answers have no path. */
export function openCallsOf({ role, parts }: UiMessage) {
  const calls = role === "assistant" ? parts.flatMap((part) => OpenCall.safeParse(part).data ?? []) : [];
  return calls.map(({ toolCallId, toolName, input, toolMetadata }) => {
    return { call_id: toolCallId, name: toolName, arguments: input, path: toolMetadata?.path ?? [] };
  });
}

const Approval = z.looseObject({ id: z.string(), approved: z.boolean(), reason: z.string().nullish() });

/** The user's answer to the approval with this id, or null. */
export function approvalOf({ parts }: UiMessage, questionId: string): Reply | null {
  for (const { state, approval } of parts) {
    const given = Approval.safeParse(approval);
    if (state !== "approval-responded" || !given.success || given.data.id !== questionId) continue;
    const { approved, reason } = given.data;
    return { answer: approved ? "allow_once" : "deny", ...(reason ? { text: reason } : {}) };
  }
  return null;
}

/** The answer in the user's words to a question that takes words; null: it is another message. */
export function answerInWords({ type, options }: Question, words: string): Reply | null {
  if (type !== "clarification" && type !== "decision") return null;
  return options.some(({ label }) => label === words) ? { answer: words } : { text: words };
}
