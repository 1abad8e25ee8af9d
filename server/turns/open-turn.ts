import type { Request, Response } from "express";
import type { Logger } from "pino";
import type { TurnRecordStore } from "../../stores/postgres/conversations/turn-record-store.ts";
import { callerOf } from "../auth/caller.ts";
import type { ChatRequest } from "./chat-request.ts";
import { hashBody, hashIdempotencyKey, makeIdempotentTurns } from "./idempotent-turns.ts";
import { localSource, type TurnSource } from "./turn-source.ts";
import type { AppError } from "../../errors/app-error.ts";
import type { ConversationGraph } from "../../graph/build-graph.ts";
import { type LastEvent, type RunningTurn, startTurn, type TurnInput } from "../../graph/start-turn.ts";
import type { OnBusy } from "../../turn/context.ts";
import type { Owner } from "../../stores/owner.ts";
import { KeyTaken, type TurnKey } from "../../turn/key.ts";
import { causeFacts, type CauseFacts } from "../observe/logger.ts";
import type { TurnLimits } from "../limits/turn-limits.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { RecentTurns } from "../observe/status-routes.ts";
import type { TurnRegistry } from "./turn-registry.ts";

export interface LaunchTurnParts {
  graph: ConversationGraph;
  registry: TurnRegistry;
  limits: TurnLimits;
  metrics: Metrics;
  recentTurns: RecentTurns;
  log: Logger;
}

/** Starts a turn. Throws AppError `shutting_down` once the service is stopping, and what TurnLimits throws. */
export type LaunchTurn = (input: TurnInput & Owner, options: { onBusy: OnBusy; key?: TurnKey }) => Promise<RunningTurn>;

/** One line for each turn, when it ends. */
function logEnd(log: Logger, turnId: string, { status, content }: LastEvent, causes: CauseFacts[]): void {
  if (status === "error") {
    log.warn({ turn_id: turnId, code: content.code, causes }, "turn failed");
    return;
  }
  const { conversation_id, timings, usage, degraded } = content;
  const { total_ms: ms, first_token_ms } = timings;
  log.info({ turn_id: turnId, conversation_id, ms, first_token_ms, tokens: usage.total_tokens, degraded }, "turn done");
}

/** How every turn is started: registered while it runs, counted and logged when it ends. */
export function makeLaunchTurn({ graph, registry, limits, metrics, recentTurns, log }: LaunchTurnParts): LaunchTurn {
  return async function launchTurn(input, options) {
    const causes: CauseFacts[] = [];
    let isAnsweredByAnother = false;
    const onError = (error: AppError): void => {
      isAnsweredByAnother ||= error instanceof KeyTaken;
      causes.push(...causeFacts(error));
    };
    const turn = await limits.begin(input, (onUsage) => {
      registry.assertOpen();
      return startTurn(graph, input, { ...options, onUsage, onError });
    });
    registry.add(turn, input);
    void turn.ended.then((last) => {
      if (isAnsweredByAnother) return; // that one is counted, where it runs
      metrics.turnEnded(last);
      recentTurns.add(input, last);
      logEnd(log, turn.turnId, last, causes);
    });
    return turn;
  };
}

export interface OpenTurnParts extends LaunchTurnParts {
  turns: TurnRecordStore;
}

/**
 * Starts the turn that a checked request asks for, or finds the one of its Idempotency-Key, for the client behind `response`. Throws what
 * LaunchTurn throws, and AppError `invalid_request` or `idempotency_mismatch` for the key.
 */
export type OpenTurn = (request: Request, response: Response, body: ChatRequest) => Promise<TurnSource>;

export function makeOpenTurn({ turns, ...parts }: OpenTurnParts): OpenTurn {
  const { registry } = parts;
  const launchTurn = makeLaunchTurn(parts);
  const idempotent = makeIdempotentTurns(turns, registry);
  return async function openTurn(request, response, body) {
    const keyHash = hashIdempotencyKey(request);
    const owner = { tenantId: callerOf(response).tenantId, userId: body.user_id };
    const input = {
      ...owner,
      sessionId: body.session_id,
      message: body.message,
      debug: body.debug,
      agentType: body.agent_type,
      requestedKbPrefix: body.kb_prefix,
    };
    const { on_busy: onBusy } = body;
    const waits = onBusy === "enqueue";
    const source =
      keyHash === null
        ? localSource(await launchTurn(input, { onBusy }), waits)
        : await idempotent.open({ owner, keyHash, bodyHash: hashBody(body), waits, start: (key) => launchTurn(input, { onBusy, key }) });
    registry.attach(source.turnId, response, { cancels: body.on_disconnect === "cancel" });
    return source;
  };
}
