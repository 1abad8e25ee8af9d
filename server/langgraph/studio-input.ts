import { type BaseMessage, type BaseMessageLike, coerceMessageLikeToMessage } from "@langchain/core/messages";
import { isSerializableSchema, Overwrite, ReducedValue } from "@langchain/langgraph";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { RetrievalMode, ConversationState, type ConversationUpdate } from "../../turn/state.ts";
import { assertNotTooLong, chatMessage } from "../turns/chat-request.ts";
import { callerId, instructionsText, parseRequest, storableText } from "../http/parse-request.ts";

const STUDIO_USER = "studio";

/** The fields of the state that a caller writes. Studio's form sends all the others, empty. */
const StudioInput = z.object({
  tenantId: callerId.optional(),
  userId: callerId.optional(),
  sessionId: callerId.optional(),
  message: chatMessage.optional(),
  messages: z.union([z.array(z.unknown()), z.record(z.string(), z.unknown()), z.string()]).optional(),
  debug: z.boolean("must be true or false").optional(),
  agentType: z.enum(RetrievalMode.options, `must be one of ${RetrievalMode.options.join(", ")}`).optional(),
  requestedKbPrefix: storableText.nullable().optional(),
  instructions: instructionsText.optional(),
});

/** Resets the fields that only nodes write: a thread still has its last turn's. */
function resetNodeFields(): ConversationUpdate {
  const fields = Object.entries(ConversationState.fields).filter(([name]) => !(name in StudioInput.shape));
  return Object.fromEntries(
    fields.flatMap(([name, field]) => {
      const isAddedUp = ReducedValue.isInstance(field);
      const schema = isAddedUp ? field.valueSchema : field;
      const parsed = isSerializableSchema(schema) && schema["~standard"].validate(undefined);
      if (!parsed || parsed instanceof Promise || parsed.issues) return [];
      return [[name, isAddedUp ? new Overwrite(parsed.value) : parsed.value]];
    }),
  );
}

function toMessage(given: unknown): BaseMessage {
  try {
    return coerceMessageLikeToMessage(given as BaseMessageLike);
  } catch (cause) {
    const problem = 'holds something that is no message; send {"type": "human", "content": "…"}';
    throw new AppError("invalid_request", `messages: ${problem}`, { details: [{ field: "messages", problem }], cause });
  }
}

/** The last human message with parts of these types; earlier ones are stored. Throws AppError `invalid_request`. */
export function lastHuman(given: unknown, types: readonly string[] = ["text"]): BaseMessage | undefined {
  const message = (Array.isArray(given) ? given : [given]).map(toMessage).findLast(({ type }) => type === "human");
  if (message === undefined || typeof message.content === "string") return message;
  const other = message.content.find(({ type }) => !types.includes(type));
  if (!other) return message;
  const problem = `holds a part of the type "${other.type}"; only ${types.join(", ")} ${types.length === 1 ? "is" : "are"} understood`;
  throw AppError.invalid([{ field: "messages", problem }]);
}

/** A thread of Studio, with the user and session of earlier runs. */
export interface StudioThread {
  id: string | undefined;
  earlier: { userId?: string | undefined; sessionId?: string | undefined };
}

/**
 * A turn's input for a run in Studio. Without ids the user is `studio` and the session the thread, unless an earlier run named others.
 * Throws AppError `invalid_request` or `message_too_long`.
 */
export function toTurnInput(input: object, thread: StudioThread, maxMessageChars: number): ConversationUpdate {
  const filledIn = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== "" && value !== undefined && value !== null));
  const { messages, message: written, instructions = "", ...given } = parseRequest(StudioInput, filledIn);
  const human = written === undefined && messages !== undefined ? lastHuman(messages) : undefined;
  const { message } = parseRequest(z.object({ message: chatMessage }), { message: written ?? human?.text });
  assertNotTooLong("message", [message], maxMessageChars);
  const { earlier, id } = thread;
  return {
    ...resetNodeFields(),
    requestedKbPrefix: null,
    ...given,
    userId: given.userId ?? earlier.userId ?? STUDIO_USER,
    sessionId: given.sessionId ?? earlier.sessionId ?? id ?? STUDIO_USER,
    message,
    instructions,
    ...(human ? { messages: [human] } : {}),
  };
}
