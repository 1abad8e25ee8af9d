import type { Request, Response } from "express";
import type { Logger } from "pino";
import { v7 as uuidv7 } from "uuid";
import { makeAnswerQuestion } from "../../agents/questions/answer.ts";
import { makeWaitingTurns } from "../../agents/questions/waiting-turns.ts";
import type { AppError } from "../../errors/app-error.ts";
import type { ConversationGraph } from "../../graph/build-graph.ts";
import { type LastEvent, type RunningTurn, startTurn, type TurnOptions } from "../../graph/start-turn.ts";
import type { GraphWatch } from "../../graph/stream-graph.ts";
import type { Owner } from "../../turn/owner.ts";
import { KeyTaken } from "../../turn/context.ts";
import type { TurnInput } from "../../turn/turn-input.ts";
import type { Usage } from "../../turn/usage.ts";
import { callerOf } from "../auth/caller.ts";
import type { UsageMeter } from "../limits/usage-meter.ts";
import { makeTurnStore } from "../../stores/postgres/turns/turn-store.ts";
import type { ResumedTurn } from "../../turn/resumed-turn.ts";
import type { Permit } from "../limits/admission.ts";
import type { Limits } from "../limits/open-limits.ts";
import { causeFacts, type CauseFacts } from "../../observe/logger.ts";
import type { Observing } from "../observe/open-observing.ts";
import type { Stores } from "../parts/open-stores.ts";
import { hashBody, hashIdempotencyKey, makeOpenIdempotent } from "./idempotent-turns.ts";
import { type ChatRequest, turnInputOf, whatIsAsked } from "./chat-request.ts";
import { whichPictures } from "./read-parts.ts";
import { makeRecentTurns } from "./turn-registry.ts";
import { makeTurnRegistry } from "./turn-registry.ts";
import { localSource, remoteSource, storedOutcome, type TurnSource } from "./turn-source.ts";

/** Input of a turn that adds to or replaces fields of a ChatRequest. */
type Beside = Omit<TurnInput, "tenantId" | "userId" | "sessionId" | "message">;

/** For a request's key. A retry may stream or not, and finds the path as the first attempt left it. */
function whatIsBeside({ modelOptions, pictures, callResults, ...others }: Beside): object {
  const results = callResults && { ...callResults, pictures: whichPictures(callResults.pictures) };
  const elsewhere = { editOf: undefined, behind: undefined, again: undefined };
  const beside = { ...others, ...elsewhere, ...(pictures ? { pictures: whichPictures(pictures) } : {}), ...(results ? { results } : {}) };
  if (!modelOptions) return beside;
  return { ...beside, modelOptions: { ...modelOptions, stream: undefined } };
}

export interface TurnsParts {
  graph: ConversationGraph;
  stores: Stores;
  limits: Limits;
  observing: Observing;
  meter: UsageMeter;
  log: Logger;
  leaseMs: number;
  onWaitingError: (error: unknown) => void;
}

function logEnd(log: Logger, turnId: string, { status, content }: LastEvent, causes: CauseFacts[]): void {
  if (status === "waiting") {
    log.info({ turn_id: turnId, conversation_id: content.conversation_id, type: content.question.type }, "turn waits for an answer");
    return;
  }
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

export type StartOptions = Pick<TurnOptions, "onBusy" | "key" | "turnId" | "resumed" | "notices" | "watch">;

export type Turns = ReturnType<typeof makeTurns>;

export function makeTurns({ graph, stores, limits, observing, meter, log, leaseMs, onWaitingError }: TurnsParts) {
  const registry = makeTurnRegistry();
  const recent = makeRecentTurns();
  const openIdempotent = makeOpenIdempotent(stores, registry);

  /** The end of a turn that another process took over, as that one tells it. */
  async function endElsewhere(owner: Owner, turnId: string): Promise<LastEvent | null> {
    const record = await stores.turns.find(owner, turnId);
    const error = record && storedOutcome(record)?.error;
    if (!record || error?.code === "turn_superseded" || !(record.isHeld || record.outcome)) return null;
    return remoteSource(stores, record, registry.stopping).last(new AbortController().signal);
  }

  function run(permit: Permit, input: TurnInput & Owner, options: StartOptions): RunningTurn {
    const { turnId = uuidv7() } = options;
    const causes: CauseFacts[] = [];
    let isAnsweredByAnother = false;
    let used: Usage | null = null;
    const onError = (error: AppError): void => {
      isAnsweredByAnother ||= error instanceof KeyTaken;
      causes.push(...causeFacts(error));
    };
    const usedBefore = options.resumed?.state.soFar.usage.total_tokens ?? 0;
    let turn: RunningTurn;
    try {
      registry.assertOpen();
      turn = meter.countFor(
        input,
        () => {
          const elsewhere = () => endElsewhere(input, turnId);
          return startTurn(graph, input, { ...options, turnId, endElsewhere: elsewhere, onUsage: (usage) => (used = usage), onError });
        },
        options.resumed?.takenAt,
      );
    } catch (error) {
      permit.release();
      throw error;
    }
    registry.add(turn, input);
    void turn.ended.then((last) => {
      permit.release();
      if (used) permit.addTokens(Math.max(0, countTokens(used, last) - usedBefore));
      if (isAnsweredByAnother) return;
      observing.metrics.turnEnded(last);
      if (last.status !== "waiting") recent.add(input, last);
      logEnd(log, turn.turnId, last, causes);
    });
    return turn;
  }

  async function start(input: TurnInput & Owner, options: StartOptions): Promise<RunningTurn> {
    return run(await limits.admitTurn(input), input, options);
  }

  function goOn(resumed: ResumedTurn, permit: Permit, watch?: GraphWatch): RunningTurn {
    const { turnId, tenantId, userId, sessionId, message, state } = resumed;
    const input = { tenantId, userId, sessionId, message, ...state.given };
    return run(permit, input, { turnId, resumed, watch });
  }

  const waiting = makeWaitingTurns({
    questions: stores.questions,
    turns: makeTurnStore(stores.database),
    leaseMs,
    goOn: async (resumed) => goOn(resumed, await limits.admitTurn(resumed, { goesOn: true })),
    onError: onWaitingError,
  });
  const answer = makeAnswerQuestion({
    questions: stores.questions,
    admit: limits.admitTurn,
    leaseMs,
    assertOpen: () => registry.assertOpen(),
    goOn(resumed, permit: Permit, watch?: GraphWatch) {
      const turn = goOn(resumed, permit, watch);
      void turn.ended.then(() => waiting.lookIn(0)); // what it needed to go on is deleted
      return turn;
    },
  });

  return {
    registry,
    recent,
    waiting,
    answer,
    start,
    /**
     * Starts a turn, or finds that of the Idempotency-Key, for the client behind `response`. `beside` overrides the body. Throws AppError
     * `shutting_down`, `invalid_request`, `not_found`, `idempotency_mismatch`, and what Admit throws.
     */
    async open(
      request: Request,
      response: Response,
      body: ChatRequest,
      beside: Beside = {},
      told: Pick<StartOptions, "notices" | "watch"> = {},
    ): Promise<TurnSource> {
      const keyHash = hashIdempotencyKey(request);
      const owner = { tenantId: callerOf(response).tenantId, userId: body.user_id };
      const { session_id: sessionId, regenerate } = body;
      const asked = regenerate === undefined ? {} : { message: await stores.branches.findAsked({ ...owner, sessionId, regenerate }) };
      const input = { ...turnInputOf(body), ...owner, ...asked, ...beside };
      const { on_busy: onBusy } = body;
      const waits = onBusy === "enqueue" || onBusy === "interrupt";
      const source =
        keyHash === null
          ? localSource(await start(input, { onBusy, ...told }), waits)
          : await openIdempotent({
              owner,
              keyHash,
              bodyHash: hashBody({ ...whatIsAsked(body), ...whatIsBeside(beside) }),
              waits,
              start: (key) => start(input, { onBusy, key, ...told }),
            });
      registry.attach(source.turnId, response, { cancels: body.on_disconnect === "cancel" });
      return source;
    },
  };
}
