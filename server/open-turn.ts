import type { Request, Response } from "express";
import type { TurnRecordStore } from "../stores/postgres/turn-record-store.ts";
import { makeLaunchTurn, type LaunchTurnParts } from "./launch-turn.ts";
import { callerOf } from "./caller.ts";
import type { ChatRequest } from "./chat-request.ts";
import { bodyHashOf, keyHashOf } from "./idempotency-key.ts";
import { makeKeyedTurns } from "./keyed-turns.ts";
import { localSource, type TurnSource } from "./turn-source.ts";

export interface OpenTurnParts extends LaunchTurnParts {
  turns: TurnRecordStore;
}

/**
 * Starts the turn that a checked request asks for, or finds the one of its Idempotency-Key, for the client behind `response`. Throws what
 * LaunchTurn throws, and AppError `invalid_request` or `idempotency_mismatch` for the key.
 */
export type OpenTurn = (request: Request, response: Response, body: ChatRequest) => Promise<TurnSource>;

export function makeOpenTurn({ turns, ...parts }: OpenTurnParts): OpenTurn {
  const { running } = parts;
  const launchTurn = makeLaunchTurn(parts);
  const keyed = makeKeyedTurns(turns, running);
  return async function openTurn(request, response, body) {
    const keyHash = keyHashOf(request);
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
        : await keyed.open({ owner, keyHash, bodyHash: bodyHashOf(body), waits, start: (key) => launchTurn(input, { onBusy, key }) });
    running.attach(source.turnId, response, { cancels: body.on_disconnect === "cancel" });
    return source;
  };
}
