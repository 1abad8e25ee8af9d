import { setTimeout as sleep } from "node:timers/promises";
import type { TurnEvent, Waiting } from "../../../turn/events.ts";
import { readEvents } from "../../support/clients/event-client.ts";

const PATIENCE_MS = 60_000;
const PAUSE_MS = 100;

export interface AskedPerson {
  key: string;
  body: object;
  /** The addresses to try, the best first. `work`: what is to be done there. */
  addresses: (work: "ask" | "answer" | "read") => readonly string[];
  /** What to say to the question with this number, from 0. */
  reply: (number: number) => string;
  /** Before the first answer. */
  beforeAnswer: () => void;
}

export interface PersonReport {
  /** Of the turn; null: it failed. */
  answer: string | null;
  /** The questions that were put, each once. */
  questions: string[];
  /** What was taken or refused of each answer. */
  taken: number;
  journal: string[];
  ms: number;
}

/**
 * Sends a message and answers what is asked until there is an answer, whatever breaks meanwhile: sends again with the same key, answers
 * again, reads again, at the next address.
 */
export async function askAndAnswer({ key, body, addresses, reply, beforeAnswer }: AskedPerson): Promise<PersonReport> {
  const began = performance.now();
  const report: PersonReport = { answer: null, questions: [], taken: 0, journal: [], ms: 0 };
  const tries = { ask: 0, answer: 0, read: 0 };
  const note = (what: string): void => void report.journal.push(`${new Date().toISOString().slice(11, -1)} ${what}`);
  const address = (work: keyof typeof tries): string => {
    const all = addresses(work);
    return all[tries[work]++ % all.length] ?? "";
  };
  const post = (url: string, sent: object, headers: Record<string, string> = {}) =>
    fetch(url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(sent) });
  /** The last event; null when the connection or the process broke. */
  async function lastOf(response: Promise<Response>): Promise<TurnEvent | null> {
    try {
      const { events, json, status } = await readEvents(await response);
      note(json ? `${status} ${json.error.code}` : events.map(({ data }) => data.status).join(" "));
      return events.at(-1)?.data ?? null;
    } catch (error) {
      note(`broke: ${String(error)}`);
      return null;
    }
  }

  let waiting: Waiting | null = null;
  let isAnswered = false;
  while (report.answer === null && performance.now() - began < PATIENCE_MS) {
    let last: TurnEvent | null = null;
    if (!waiting) {
      last = await lastOf(post(`${address("ask")}/api/v1/chat/stream`, body, { "idempotency-key": key }));
    } else if (!isAnswered) {
      if (report.questions.length === 1 && tries.answer === 0) beforeAnswer();
      const sent = { question_id: waiting.question.id, answer: reply(report.questions.length - 1) };
      const url = `${address("answer")}/api/v1/turns/${waiting.turn_id}/answers`;
      const status = await post(url, sent).then(
        (response) => response.status,
        () => null,
      );
      note(`answered ${sent.answer}: ${status}`);
      if (status === 201) report.taken++;
      isAnswered = status === 201 || status === 409;
      if (status === 404 || status === 410) waiting = null;
    } else {
      last = await lastOf(fetch(`${address("read")}/api/v1/turns/${waiting.turn_id}/stream`));
      if (last?.status === "error") waiting = null;
    }
    if (last?.status === "done") report.answer = last.content.answer;
    if (last?.status === "waiting" && !report.questions.includes(last.content.question.id)) {
      waiting = last.content;
      isAnswered = false;
      report.questions.push(waiting.question.id);
    }
    await sleep(PAUSE_MS);
  }
  return { ...report, ms: Math.round(performance.now() - began) };
}
