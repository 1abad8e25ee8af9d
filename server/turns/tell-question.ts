import { createHmac } from "node:crypto";
import { AppError } from "../../errors/app-error.ts";
import type { TellQuestionJob } from "../../stores/jobs/job.ts";
import type { QuestionStore } from "../../stores/postgres/agents/question-store.ts";
import { askInWords, languageOf } from "../../turn/ask-in-words.ts";
import type { Config } from "../settings/config.ts";

const TIMEOUT_MS = 10_000;

const ENCODED = "whsec_";
/** Secrets of this form are keys in Base64, others are keys as they stand. */
const keyOf = (secret: string): Buffer =>
  secret.startsWith(ENCODED) ? Buffer.from(secret.slice(ENCODED.length), "base64") : Buffer.from(secret);

/** Headers of https://www.standardwebhooks.com, by which the receiver checks the sender and detects a replay. */
export function signatureHeaders(secret: string, id: string, body: string, at = Date.now()): Record<string, string> {
  const timestamp = String(Math.floor(at / 1_000));
  const signature = createHmac("sha256", keyOf(secret)).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}

/**
 * Tells of a question that is still open, at least once and under the same id. Throws AppError `webhook_unavailable`. Null when nobody is
 * to be told.
 */
export function openTellQuestion(
  { QUESTION_WEBHOOK_URL: url, QUESTION_WEBHOOK_SECRET: secret }: Pick<Config, "QUESTION_WEBHOOK_URL" | "QUESTION_WEBHOOK_SECRET">,
  { questions }: { questions: Pick<QuestionStore, "find"> },
): ((job: TellQuestionJob, signal: AbortSignal) => Promise<void>) | null {
  if (url === undefined || secret === undefined) return null;
  return async function tellQuestion({ tenantId, userId, turnId, questionId }, signal) {
    const stored = await questions.find({ tenantId, userId }, turnId, questionId);
    if (!stored?.isOpen) return;
    const { question, conversationId } = stored;
    const about = { tenant: tenantId, user_id: userId, turn_id: turnId, conversation_id: conversationId, question };
    const body = JSON.stringify({ type: "question.asked", text: askInWords(question, languageOf(question.question)), ...about });
    const headers = { "content-type": "application/json", ...signatureHeaders(secret, questionId, body) };
    const inTime = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const response = await fetch(url, { method: "POST", headers, body, redirect: "error", signal: inTime }).catch((cause: unknown) => {
      signal.throwIfAborted();
      throw new AppError("webhook_unavailable", "QUESTION_WEBHOOK_URL cannot be reached.", { cause });
    });
    await response.body?.cancel();
    if (!response.ok) throw new AppError("webhook_unavailable", `QUESTION_WEBHOOK_URL answers with status ${response.status}.`);
  };
}
