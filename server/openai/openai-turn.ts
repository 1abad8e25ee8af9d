import type { Request, Response } from "express";
import { toAppError } from "../../errors/app-error.ts";
import { v7 as uuidv7 } from "uuid";
import type { AppParts } from "../http/app-parts.ts";
import { assertNotTooLong, parseChatRequest } from "../turns/chat-request.ts";
import type { TurnSource } from "../turns/turn-source.ts";
import { type CompletionRequest, readAsked } from "./completion-request.ts";
import type { OfferedModel } from "./offered-models.ts";
import { toResponseFormat, toSampling } from "./sampling.ts";
import { callerOf } from "../auth/caller.ts";
import { answerCalls, readCallerTools, readResults } from "./caller-tools.ts";
import type { AskedEvents } from "./completion-stream.ts";
import type { Session } from "./user-and-session.ts";
import { quoteEarlier, systemAttachments, systemInstructions, unwrapMessage } from "./wrapped-message.ts";

export interface OpenAITurn {
  completion: CompletionRequest;
  offer: Pick<OfferedModel, "kbPrefix" | "agent" | "model">;
  userId: string;
  /** Null: the turn has a conversation of its own, and sees what the request has of its history. It must not be stored. */
  session: Session | null;
  /** False: it leaves no message and no memory. */
  store: boolean;
  /** It goes on when the client leaves. */
  isDetached?: boolean;
  /** Kept with its outcome. */
  asked?: Record<string, unknown>;
}

export interface OpenedTurn extends AskedEvents {
  source: TurnSource;
  /** A turn that goes on with results has legs, from 2 on. */
  leg: number;
}

/** Outputs of tools may be longer than a message. */
const MOST_OUTPUTS = 10;

/** Begins the turn that a request in OpenAI's protocol asks for. The returned function throws what `Turns.open` throws. */
export function makeOpenTurn({ config, stores, turns }: Pick<AppParts, "config" | "stores" | "turns">) {
  const { MAX_MESSAGE_CHARS: maxMessageChars } = config;

  return async function openTurn(request: Request, response: Response, given: OpenAITurn): Promise<OpenedTurn> {
    const { completion, offer, userId, session, store, isDetached = false, asked } = given;
    const tools = readCallerTools(completion);
    const callerTools = new Set(tools?.tools.map(({ function: { name } }) => name));
    const results = readResults(completion);
    if (results) {
      const names = new Set(completion.tools?.map(({ function: tool }) => tool?.name ?? ""));
      const owner = { tenantId: callerOf(response).tenantId, userId };
      const outputs = results.map(({ output }) => output);
      assertNotTooLong("messages", outputs, maxMessageChars * MOST_OUTPUTS);
      return { ...(await answerCalls({ stores, turns }, response, { owner, results, isDetached })), field: "messages", callerTools: names };
    }
    const { field, continues, message: said } = readAsked(completion);
    const { message, attachments: ofMessage } = unwrapMessage(said);
    const wrapped = [...systemAttachments(completion.messages), ...ofMessage];
    const texts = [message, ...wrapped.map(({ text }) => text)];
    assertNotTooLong("messages", texts, maxMessageChars);
    const room = maxMessageChars - texts.reduce((sum, text) => sum + text.length, 0);
    const attachments = [...(session === null ? quoteEarlier(completion.messages, room) : []), ...wrapped];
    const instructions = systemInstructions(completion.messages);
    assertNotTooLong("messages", [instructions], maxMessageChars);
    const response_format = toResponseFormat(completion.response_format, "response_format.json_schema.schema");
    const form = response_format ? { response_format, stream: completion.stream === true } : {};
    const modelOptions = { ...toSampling(completion), ...form };
    const beside = {
      ...(attachments.length > 0 ? { attachments } : {}),
      ...(instructions === "" ? {} : { instructions }),
      ...(Object.keys(modelOptions).length === 0 ? {} : { modelOptions }),
      ...(continues === undefined ? {} : { continues }),
      ...(tools === null ? {} : { callerTools: tools }),
      ...(store ? {} : { store }),
      ...(asked === undefined ? {} : { asked }),
    };
    const open = (sessionId: string | null, onBusy: "enqueue" | "refuse"): Promise<TurnSource> => {
      const body = {
        user_id: userId,
        ...(sessionId === null ? {} : { session_id: sessionId }),
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
    const begin = async (): Promise<TurnSource> => {
      if (session === null || session.whenBusy === "enqueue") return open(session?.sessionId ?? null, "enqueue");
      const source = await open(session.sessionId, "refuse");
      const refusal = await source.accepted.then(() => null, toAppError);
      const code = refusal?.code;
      if (code === "conversation_waiting" && session.whenBusy === "refuse") return open(session.sessionId, "enqueue");
      if (session.whenBusy === "refuse" || (code !== "conversation_busy" && code !== "conversation_waiting")) return source;
      return open(`${session.sessionId}-${uuidv7()}`, "enqueue");
    };
    return { source: await begin(), field, callerTools, leg: 1 };
  };
}
