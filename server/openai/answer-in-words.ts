import type { Response } from "express";
import { toAppError } from "../../errors/app-error.ts";
import type { Owner } from "../../turn/owner.ts";
import { readReply } from "../../turn/read-reply.ts";
import type { GivenAnew } from "../../turn/resumed-turn.ts";
import type { Stores } from "../parts/open-stores.ts";
import type { Turns } from "../turns/open-turn.ts";
import { localSource } from "../turns/turn-source.ts";
import type { ResumedSource } from "./tool-calls.ts";

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
export async function answerInWords(
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
