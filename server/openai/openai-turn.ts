import type { Request, Response } from "express";
import { toAppError } from "../../errors/app-error.ts";
import { v7 as uuidv7 } from "uuid";
import type { Config } from "../settings/config.ts";
import type { Stores } from "../parts/open-stores.ts";
import type { Turns } from "../turns/open-turn.ts";
import { assertNotTooLong, parseChatRequest } from "../turns/chat-request.ts";
import { readPictures } from "../turns/read-parts.ts";
import { type TurnSource, localSource } from "../turns/turn-source.ts";
import { type AskedTurn, type CompletionRequest, readAsked } from "./completion-request.ts";
import type { OfferedModel } from "./offered-models.ts";
import { toResponseFormat, toSampling } from "./sampling.ts";
import { setTimeout as sleep } from "node:timers/promises";
import type { GivenAnew } from "../../turn/resumed-turn.ts";
import { languageOf } from "../../turn/ask-in-words.ts";
import { callerOf } from "../auth/caller.ts";
import type { Departure } from "./align-history.ts";
import { findDeparture } from "./find-departure.ts";
import {
  answerCalls,
  keepResults,
  leftOutNotices,
  readCallerTools,
  readResults,
  type ResumedSource,
  type EndedCalls,
  findEndedCalls,
} from "./tool-calls.ts";
import type { AskedEvents } from "./completion-stream.ts";
import type { Session } from "./user-and-session.ts";
import { quoteEarlier, systemAttachments, systemInstructions, unwrapMessage } from "./wrapped-message.ts";
import type { Owner } from "../../turn/owner.ts";
import { readReply } from "../../turn/read-reply.ts";

interface RepliedMessage {
  owner: Owner;
  sessionId: string;
  message: string;
  /** When the message came, in milliseconds since 1970. */
  at: number;
  givenAnew: GivenAnew;
}

/** Somebody else was faster, or time was up: the message begins a turn. */
const TOO_LATE = new Set(["already_answered", "question_expired", "not_found"]);

/**
 * Answers a conversation's waiting question with its user's message. Null when the message cannot be a reply, as when it was sent before
 * the question. Throws what `Turns.answer` throws.
 */
async function answerInWords(
  { stores, turns }: { stores: Pick<Stores, "questions">; turns: Turns },
  response: Response,
  { owner, sessionId, message, at, givenAnew }: RepliedMessage,
): Promise<ResumedSource | null> {
  const waiting = await stores.questions.waitingIn({ ...owner, sessionId });
  if (!waiting || waiting.question.type === "client_tool" || waiting.askedAt.getTime() > at) return null;
  const { turnId, question } = waiting;
  try {
    const { turn } = await turns.answer(owner, turnId, question.id, { ...readReply(question, message), givenAnew });
    turns.registry.attach(turnId, response, { cancels: true });
    return { source: localSource(turn, false), leg: (turn.before?.legs ?? 0) + 1 };
  } catch (error) {
    if (TOO_LATE.has(toAppError(error).code)) return null;
    throw error;
  }
}

export interface OpenAITurn {
  completion: CompletionRequest;
  offer: Pick<OfferedModel, "kbPrefix" | "agent" | "model">;
  userId: string;
  /** Null: the turn has its own conversation, which must not be stored, and sees the request's history. */
  session: Session | null;
  /** False: it leaves no message and no memory. */
  store: boolean;
  /** Where it leaves the path. Default: as the request's earlier messages tell. */
  departure?: Departure;
  /** It goes on when the client leaves. */
  isDetached?: boolean;
  /** Kept with its outcome. */
  asked?: Record<string, unknown>;
}

/** A turn that goes on with results, or with a reply, has legs, from 2 on. */
export interface OpenedTurn extends AskedEvents, ResumedSource {}

const lastWords = ({ messages }: CompletionRequest): string => messages.findLast(({ role }) => role === "user")?.text ?? "";

/** Outputs of tools may be longer than a message. */
const MOST_OUTPUTS = 10;

/** Milliseconds in which a turn is stored, refused, or queued. */
const SOON_MS = 5_000;

/** The code of an immediate refusal, or null. */
async function refusalOf({ accepted }: TurnSource): Promise<string | null> {
  const settled = new AbortController();
  const answered = accepted.then(
    () => null,
    (error: unknown) => toAppError(error).code,
  );
  const soon = sleep(SOON_MS, null, { signal: settled.signal, ref: false }).catch(() => null);
  return Promise.race([answered, soon]).finally(() => settled.abort());
}

/** Whether the caller can be asked. */
const isInteractive = (request: Request, { store, isDetached = false }: OpenAITurn): boolean =>
  store && !isDetached && request.get("x-interactive")?.trim().toLowerCase() !== "false";

/** Begins the turn of a request in OpenAI's protocol. The returned function throws what `Turns.open` throws. */
export function makeOpenTurn({ config, stores, turns }: { config: Config; stores: Stores; turns: Turns }) {
  const { MAX_MESSAGE_CHARS: maxMessageChars } = config;

  return async function openTurn(request: Request, response: Response, given: OpenAITurn): Promise<OpenedTurn> {
    const { completion, offer, userId, session, store, departure, isDetached = false, asked } = given;
    const at = Date.now();
    const owner = { tenantId: callerOf(response).tenantId, userId };
    const interactive = isInteractive(request, given);
    const language = languageOf(unwrapMessage(lastWords(completion)).message);
    const tools = readCallerTools(completion);
    const instructions = systemInstructions(completion.messages);
    assertNotTooLong("messages", [instructions], maxMessageChars);
    const response_format = toResponseFormat(completion.response_format, "response_format.json_schema.schema");
    const form = response_format ? { response_format, stream: completion.stream === true } : {};
    const modelOptions = { ...toSampling(completion), ...form };
    const givenAnew: GivenAnew = {
      ...{ instructions, modelOptions, callerTools: tools, requestedModel: offer.model, interactive },
      ...(asked === undefined ? {} : { asked }),
      ...(offer.agent === null ? {} : { requestedAgent: offer.agent }),
      ...(offer.kbPrefix === null ? {} : { requestedKbPrefix: offer.kbPrefix }),
    };
    const results = readResults(completion);
    let ended: EndedCalls | null = null;
    if (results) {
      const outputs = results.map(({ output }) => output);
      assertNotTooLong("messages", outputs, maxMessageChars * MOST_OUTPUTS);
      const shown = results.flatMap(({ pictures }) => pictures);
      const pictures = readPictures(shown, "messages", config.MAX_PICTURES);
      const resumed = await answerCalls({ stores, turns }, response, { owner, results, pictures, givenAnew, isDetached });
      if (resumed) return { ...resumed, field: "messages", language };
      ended = await findEndedCalls(stores, { owner, sessionId: session?.sessionId ?? null, results, pictures });
    }
    const {
      field,
      continues,
      message: said,
      pictures: shown,
    }: AskedTurn = ended
      ? { field: "messages", continues: ended.continues, message: lastWords(completion) || ended.question, pictures: [] }
      : readAsked(completion);
    const isKept = store || ended !== null; // as the calling turn was
    const pictures = readPictures(shown, field, config.MAX_PICTURES);
    const { message, attachments: ofMessage } = unwrapMessage(said);
    const wrapped = [...systemAttachments(completion.messages), ...ofMessage];
    const texts = [message, ...wrapped.map(({ text }) => text)];
    assertNotTooLong("messages", texts, maxMessageChars);
    const room = maxMessageChars - texts.reduce((sum, text) => sum + text.length, 0);
    const attachments = [...(session === null ? quoteEarlier(completion.messages, room) : []), ...wrapped];
    const beside = {
      ...(pictures.length > 0 ? { pictures } : {}),
      ...(attachments.length > 0 ? { attachments } : {}),
      ...(instructions === "" ? {} : { instructions }),
      ...(Object.keys(modelOptions).length === 0 ? {} : { modelOptions }),
      ...(continues === undefined ? {} : { continues }),
      ...(tools === null ? {} : { callerTools: tools }),
      ...(ended ? { callResults: ended.callResults } : {}),
      ...(isKept ? {} : { store: false }),
      ...(asked === undefined ? {} : { asked }),
    };
    const findPlace = async (sessionId: string): Promise<Departure> => {
      if (departure !== undefined || !store || continues !== undefined) return departure ?? null;
      return findDeparture(stores, request, { session: { ...owner, sessionId }, completion, message, pictures });
    };
    const open = (sessionId: string | null, onBusy: "enqueue" | "refuse", from: Departure = null): Promise<TurnSource> => {
      const body = {
        user_id: userId,
        ...(sessionId === null ? {} : { session_id: sessionId }),
        message,
        kb_prefix: offer.kbPrefix,
        agent: offer.agent,
        model: offer.model,
        on_busy: onBusy,
        interactive,
        remember: isKept,
        on_disconnect: isDetached ? "continue" : "cancel",
      };
      const chat = parseChatRequest(body, maxMessageChars, pictures.length > 0 || ended !== null);
      return turns.open(request, response, chat, { ...beside, ...from }, { notices: leftOutNotices(completion) });
    };
    const begin = async (): Promise<ResumedSource> => {
      if (ended) return { source: await open(ended.sessionId, "enqueue"), leg: 1 };
      if (store) await keepResults({ stores, config }, owner, completion);
      if (session === null) return { source: await open(null, "enqueue"), leg: 1 };
      const { sessionId, whenBusy } = session;
      const from = await findPlace(sessionId);
      const source = await open(sessionId, whenBusy === "enqueue" ? "enqueue" : "refuse", from);
      const code = interactive || whenBusy !== "enqueue" ? await refusalOf(source) : null;
      if (code === "conversation_waiting" && whenBusy !== "another") {
        const replied =
          interactive &&
          continues === undefined &&
          (await answerInWords({ stores, turns }, response, { owner, sessionId, message, at, givenAnew }));
        return replied || { source: await open(sessionId, "enqueue", from), leg: 1 };
      }
      if (whenBusy !== "another" || (code !== "conversation_busy" && code !== "conversation_waiting")) return { source, leg: 1 };
      return { source: await open(`${sessionId}-${uuidv7()}`, "enqueue"), leg: 1 };
    };
    return { ...(await begin()), field, language };
  };
}
