import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AppError } from "../errors/app-error.ts";
import type { ErrorCode } from "../errors/error-codes.ts";
import type { Agent } from "../turn/agent.ts";
import type { ModelAnswer } from "./stream-answer.ts";

/** A model that may answer, by its name for callers. */
export interface ModelChoice {
  name: string;
  model: BaseChatModel;
  /** The circuit of its server, which other models may share. Default: none. */
  circuit?: ServerCircuit | undefined;
}

/** The models of a turn in order: the turn's or its agent's, then its fallbacks. Never empty. */
export type ChooseModels = (wanted: { model: string | null; agent: Agent | null }) => readonly ModelChoice[];

export function firstChoice([first]: readonly ModelChoice[]): ModelChoice {
  if (!first) throw new Error("there is no model to ask");
  return first;
}

/** A server that fails with one of these before its first word is away. */
const AWAY: ReadonlySet<ErrorCode> = new Set(["model_unavailable", "model_first_token_timeout", "model_rate_limited", "model_quota"]);

const FAILURES_IN_A_ROW = 3;
/** Afterwards one call tries whether the server is back. */
const PAUSE_MS = 10_000;

export type ServerCircuit = ReturnType<typeof makeServerCircuit>;

/** Skips a server for ten seconds after it was away three times in a row. */
export function makeServerCircuit(now: () => number = () => performance.now()) {
  let failures = 0;
  let closedAgainAt = 0;
  return {
    mayAsk: (): boolean => {
      if (failures < FAILURES_IN_A_ROW) return true;
      if (now() < closedAgainAt) return false;
      closedAgainAt = now() + PAUSE_MS; // others go on without it until this call has ended
      return true;
    },
    note: (isAway: boolean): void => {
      failures = isAway ? failures + 1 : 0;
      closedAgainAt = now() + PAUSE_MS;
    },
  };
}

/**
 * Asks one model after the other until one begins to answer, or can see the message's pictures. Skips servers that were away lately while
 * there is another. `onAway` hears why each but the last did not answer. Adds the name of the one that counts.
 */
export async function askInTurn<Asked extends { answer: ModelAnswer }>(
  choices: readonly ModelChoice[],
  ask: (choice: ModelChoice, options: { isLast: boolean }) => Promise<Asked>,
  onAway: (error: AppError) => void = () => undefined,
): Promise<Asked & { answeredBy: string }> {
  const present = choices.length === 1 ? choices : choices.filter(({ circuit }) => circuit?.mayAsk() !== false);
  const order = present.length > 0 ? present : choices;
  for (const [place, choice] of order.entries()) {
    const isLast = place === order.length - 1;
    const asked = await ask(choice, { isLast });
    const { error, text, toolCalls } = asked.answer;
    const isSilent = error !== null && text === "" && toolCalls.length === 0;
    const isAway = isSilent && AWAY.has(error.code);
    choice.circuit?.note(isAway);
    const isNextAsked = isAway || (isSilent && error.code === "model_cannot_see");
    if (!isNextAsked || isLast) return { ...asked, answeredBy: choice.name };
    onAway(error);
  }
  throw new Error("there is no model to ask");
}
