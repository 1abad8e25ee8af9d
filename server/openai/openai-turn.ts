import type { Request, Response } from "express";
import { toAppError } from "../../errors/app-error.ts";
import { v7 as uuidv7 } from "uuid";
import type { AppParts } from "../http/app-parts.ts";
import { assertNotTooLong, parseChatRequest } from "../turns/chat-request.ts";
import type { TurnSource } from "../turns/turn-source.ts";
import { type CompletionRequest, readAsked } from "./completion-request.ts";
import type { OfferedModel } from "./offered-models.ts";
import { toResponseFormat, toSampling } from "./sampling.ts";
import type { Session } from "./user-and-session.ts";
import { systemAttachments, systemInstructions, unwrapMessage } from "./wrapped-message.ts";

export interface OpenAITurn {
  completion: CompletionRequest;
  offer: Pick<OfferedModel, "kbPrefix" | "agent" | "model">;
  userId: string;
  session: Session;
  /** False: it leaves no message and no memory. Default true. */
  store?: boolean;
  /** It goes on when the client leaves. */
  isDetached?: boolean;
  /** Kept with its outcome. */
  asked?: Record<string, unknown>;
}

export interface OpenedTurn {
  source: TurnSource;
  /** The field of the request that an error of the turn is about. */
  field: string;
}

/** Begins the turn that a request in OpenAI's protocol asks for. The returned function throws what `Turns.open` throws. */
export function makeOpenTurn({ config, turns }: Pick<AppParts, "config" | "turns">) {
  const { MAX_MESSAGE_CHARS: maxMessageChars } = config;

  return async function openTurn(request: Request, response: Response, given: OpenAITurn): Promise<OpenedTurn> {
    const { completion, offer, userId, session, store = true, isDetached = false, asked } = given;
    const { field, continues, message: said } = readAsked(completion);
    const { message, attachments: ofMessage } = unwrapMessage(said);
    const attachments = [...systemAttachments(completion.messages), ...ofMessage];
    const instructions = systemInstructions(completion.messages);
    assertNotTooLong("messages", [message, ...attachments.map(({ text }) => text)], maxMessageChars);
    assertNotTooLong("messages", [instructions], maxMessageChars);
    const response_format = toResponseFormat(completion.response_format, "response_format.json_schema.schema");
    const form = response_format ? { response_format, stream: completion.stream === true } : {};
    const modelOptions = { ...toSampling(completion), ...form };
    const beside = {
      ...(attachments.length > 0 ? { attachments } : {}),
      ...(instructions === "" ? {} : { instructions }),
      ...(Object.keys(modelOptions).length === 0 ? {} : { modelOptions }),
      ...(continues === undefined ? {} : { continues }),
      ...(store ? {} : { store }),
      ...(asked === undefined ? {} : { asked }),
    };
    const open = (sessionId: string, onBusy: "enqueue" | "refuse"): Promise<TurnSource> => {
      const body = {
        user_id: userId,
        session_id: sessionId,
        message,
        kb_prefix: offer.kbPrefix,
        agent: offer.agent,
        model: offer.model,
        on_busy: onBusy,
        interactive: false,
        remember: store,
        on_disconnect: isDetached ? "continue" : "cancel",
      };
      return turns.open(request, response, parseChatRequest(body, maxMessageChars), beside);
    };
    if (session.whenBusy !== "another") return { source: await open(session.sessionId, session.whenBusy), field };
    const source = await open(session.sessionId, "refuse");
    const refusal = await source.accepted.then(() => null, toAppError);
    if (refusal?.code !== "conversation_busy") return { source, field };
    return { source: await open(`${session.sessionId}-${uuidv7()}`, "enqueue"), field };
  };
}
