import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { AgentType } from "../../turn/state.ts";
import { OnBusy } from "../../turn/context.ts";
import { callerId, parseRequest, storableText } from "../http/parse-request.ts";

const oneOf = (values: readonly string[]): string => `must be one of ${values.join(", ")}`;

export const chatMessage = storableText.refine((text) => text.trim() !== "", "is blank; send what the user said").meta({ minLength: 1 });

export const ChatRequest = z.strictObject(
  {
    user_id: callerId,
    session_id: callerId,
    message: chatMessage,
    kb_prefix: storableText.nullable().default(null).describe("The knowledge base to answer from; null: the service picks one, or none."),
    agent_type: z.enum(AgentType.options, oneOf(AgentType.options)).default("hybrid_agent"),
    debug: z.boolean("must be true or false").default(false).describe("Brings the events `execution_log`."),
    on_busy: z
      .enum(OnBusy.options, oneOf(OnBusy.options))
      .default("refuse")
      .describe("While another turn holds the conversation: 409 `conversation_busy`, or wait in line."),
    on_disconnect: z
      .enum(["cancel", "continue"], oneOf(["cancel", "continue"]))
      .default("cancel")
      .describe("What becomes of the turn when the client leaves."),
  },
  { error: (issue) => (issue.code === "invalid_type" ? "must be a JSON object with user_id, session_id and message" : undefined) },
);
export type ChatRequest = z.infer<typeof ChatRequest>;

/** A pair of surrogates is one. */
function characterCount(text: string): number {
  let pairs = 0;
  for (let index = 0; index < text.length; index++) {
    if ((text.codePointAt(index) ?? 0) <= 0xffff) continue;
    pairs++;
    index++;
  }
  return text.length - pairs;
}

/** Throws AppError `message_too_long`. */
export function assertNotTooLong(field: string, texts: readonly string[], maxMessageChars: number): void {
  const characters = texts.reduce((sum, text) => sum + characterCount(text), 0);
  if (characters <= maxMessageChars) return;
  const problem = `has ${characters} characters, at most ${maxMessageChars} are taken; shorten it, or raise MAX_MESSAGE_CHARS`;
  throw new AppError("message_too_long", `${field}: ${problem}`, { details: [{ field, problem }] });
}

/** Throws AppError `invalid_request` or `message_too_long`. */
export function parseChatRequest(body: unknown, maxMessageChars: number): ChatRequest {
  const request = parseRequest(ChatRequest, body);
  assertNotTooLong("message", [request.message], maxMessageChars);
  return request;
}
