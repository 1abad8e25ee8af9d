import type { Request, Response } from "express";
import type { Logger } from "pino";
import { AppError } from "../../errors/app-error.ts";
import type { ConversationGraph } from "../../graph/build-graph.ts";
import { type LastEvent, type RunningTurn, startTurn, type TurnInput } from "../../graph/start-turn.ts";
import type { Owner } from "../../stores/owner.ts";
import { OnBusy, KeyTaken, type TurnKey } from "../../turn/context.ts";
import type { ModelOptions } from "../../turn/model-options.ts";
import { AGENT_NAME } from "../../turn/agent.ts";
import { ONCE } from "../../turn/outcome.ts";
import { AgentType, type Attachment, type Usage } from "../../turn/state.ts";
import { callerOf } from "../auth/caller.ts";
import type { UsageMeter } from "../limits/usage-meter.ts";
import type { Limits } from "../limits/open-limits.ts";
import { causeFacts, type CauseFacts } from "../observe/logger.ts";
import type { Observing } from "../observe/open-observing.ts";
import type { Stores } from "../start/open-stores.ts";
import { hashBody, hashIdempotencyKey, makeOpenIdempotent } from "./idempotent-turns.ts";
import { makeRecentTurns } from "./recent-turns.ts";
import { makeTurnRegistry } from "./turn-registry.ts";
import { localSource, type TurnSource } from "./turn-source.ts";
import { v7 as uuidv7 } from "uuid";
import { z } from "zod";
import { callerId, instructionsText, parseRequest, storableText } from "../http/parse-request.ts";

const oneOf = (values: readonly string[]): string => `must be one of ${values.join(", ")}`;

export const chatMessage = storableText.refine((text) => text.trim() !== "", "is blank; send what the user said").meta({ minLength: 1 });

export const ChatRequest = z.strictObject(
  {
    user_id: callerId,
    session_id: callerId,
    message: chatMessage,
    instructions: instructionsText
      .optional()
      .describe("What your application tells the model in this turn, behind the service's own instructions. It is not kept."),
    kb_prefix: storableText.nullable().default(null).describe("The knowledge base to answer from; null: the service picks one, or none."),
    agent: z
      .string("must be a string")
      .regex(AGENT_NAME, "must be the name of an agent")
      .nullable()
      .default(null)
      .describe("The agent that answers; null: the service picks one."),
    model: z
      .string("must be a string")
      .nullable()
      .default(null)
      .describe("A model of `GET /api/v1/models` that may be chosen; null: that of the agent or of the service."),
    agent_type: z
      .enum(AgentType.options, oneOf(AgentType.options))
      .nullable()
      .default(null)
      .describe("How documents are searched, or not at all; null: as the `worker` of the knowledge base says, else `hybrid_agent`."),
    remember: z
      .boolean("must be true or false")
      .default(true)
      .describe(
        "`false`: the turn is answered with memory and leaves none; its messages are listed, with `remember: false` in `metadata`.",
      ),
    debug: z.boolean("must be true or false").default(false).describe("Brings the events `execution_log`."),
    on_busy: z
      .enum(OnBusy.options, oneOf(OnBusy.options))
      .default("refuse")
      .describe(
        "While another turn holds the conversation: 409 `conversation_busy`, wait in line, or stop that turn, whose answer is kept as incomplete.",
      ),
    on_disconnect: z
      .enum(["cancel", "continue"], oneOf(["cancel", "continue"]))
      .default("cancel")
      .describe("What becomes of the turn when the client leaves."),
  },
  { error: (issue) => (issue.code === "invalid_type" ? "must be a JSON object with user_id, session_id and message" : undefined) },
);
export type ChatRequest = z.infer<typeof ChatRequest>;

/** What clients send. */
export const ChatBody = ChatRequest.extend({
  session_id: callerId.optional().describe("May be left out with `remember: false`: the turn then has a conversation of its own."),
});

const wantsOwnConversation = (body: unknown): body is object =>
  typeof body === "object" && body !== null && "remember" in body && body.remember === false && !("session_id" in body);

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
  const request = parseRequest(ChatRequest, wantsOwnConversation(body) ? { ...body, session_id: `${ONCE}${uuidv7()}` } : body);
  assertNotTooLong("message", [request.message], maxMessageChars);
  return request;
}

/** Without what a retry has another value of, or another version does not know. */
function whatIsAsked({ remember, session_id, model, ...others }: ChatRequest): object {
  const asked = model === null ? others : { ...others, model };
  if (remember) return { ...asked, session_id };
  return { ...asked, remember, session_id: session_id.startsWith(ONCE) ? null : session_id };
}

/** What a turn may have that is no field of a ChatRequest. */
interface Beside {
  attachments?: Attachment[];
  /** Longer than a field of a ChatRequest may be. */
  instructions?: string;
  modelOptions?: ModelOptions;
  /** See TurnInput. */
  continues?: string;
  store?: boolean;
  asked?: Record<string, unknown>;
}

/** A retry may read along or not. */
function whatIsBeside({ modelOptions, ...beside }: Beside): object {
  if (modelOptions === undefined) return beside;
  return { ...beside, modelOptions: { ...modelOptions, stream: undefined } };
}

export interface TurnsParts {
  graph: ConversationGraph;
  stores: Stores;
  limits: Limits;
  observing: Observing;
  meter: UsageMeter;
  log: Logger;
}

function logEnd(log: Logger, turnId: string, { status, content }: LastEvent, causes: CauseFacts[]): void {
  if (status === "error") {
    log.warn({ turn_id: turnId, code: content.code, causes }, "turn failed");
    return;
  }
  const { conversation_id, timings, usage, degraded, cut, model } = content;
  const { total_ms: ms, first_token_ms } = timings;
  log.info({ turn_id: turnId, conversation_id, ms, first_token_ms, tokens: usage.total_tokens, model, degraded, cut }, "turn done");
}

/** A model that failed before its first token has probably used nothing. */
function countTokens(usage: Usage, last: LastEvent): number {
  const isUnanswered =
    usage.estimated && usage.completion_tokens === 0 && last.status === "error" && last.content.code.startsWith("model_");
  return isUnanswered ? 0 : usage.total_tokens;
}

export type Turns = ReturnType<typeof makeTurns>;

export function makeTurns({ graph, stores, limits, observing, meter, log }: TurnsParts) {
  const registry = makeTurnRegistry();
  const recent = makeRecentTurns();
  const openIdempotent = makeOpenIdempotent(stores.turns, registry);

  async function start(input: TurnInput & Owner, options: { onBusy: OnBusy; key?: TurnKey }): Promise<RunningTurn> {
    const causes: CauseFacts[] = [];
    let isAnsweredByAnother = false;
    let used: Usage | null = null;
    const onError = (error: AppError): void => {
      isAnsweredByAnother ||= error instanceof KeyTaken;
      causes.push(...causeFacts(error));
    };
    const permit = await limits.admitTurn(input);
    let turn: RunningTurn;
    try {
      registry.assertOpen();
      turn = meter.countFor(input, () => startTurn(graph, input, { ...options, onUsage: (usage) => (used = usage), onError }));
    } catch (error) {
      permit.release();
      throw error;
    }
    registry.add(turn, input);
    void turn.ended.then((last) => {
      permit.release();
      if (used) permit.addTokens(countTokens(used, last));
      if (isAnsweredByAnother) return;
      observing.metrics.turnEnded(last);
      recent.add(input, last);
      logEnd(log, turn.turnId, last, causes);
    });
    return turn;
  }

  return {
    registry,
    recent,
    start,
    /**
     * Starts a turn, or finds that of the Idempotency-Key, for the client behind `response`. Throws AppError `shutting_down`,
     * `invalid_request`, `idempotency_mismatch`, and what Admit throws.
     */
    async open(request: Request, response: Response, body: ChatRequest, beside: Beside = {}): Promise<TurnSource> {
      const keyHash = hashIdempotencyKey(request);
      const owner = { tenantId: callerOf(response).tenantId, userId: body.user_id };
      const input = {
        ...owner,
        sessionId: body.session_id,
        message: body.message,
        ...(body.instructions === undefined ? {} : { instructions: body.instructions }),
        ...beside,
        remember: body.remember,
        debug: body.debug,
        agentType: body.agent_type,
        requestedKbPrefix: body.kb_prefix,
        requestedAgent: body.agent,
        requestedModel: body.model,
      };
      const { on_busy: onBusy } = body;
      const waits = onBusy !== "refuse";
      const source =
        keyHash === null
          ? localSource(await start(input, { onBusy }), waits)
          : await openIdempotent({
              owner,
              keyHash,
              bodyHash: hashBody({ ...whatIsAsked(body), ...whatIsBeside(beside) }),
              waits,
              start: (key) => start(input, { onBusy, key }),
            });
      registry.attach(source.turnId, response, { cancels: body.on_disconnect === "cancel" });
      return source;
    },
  };
}
