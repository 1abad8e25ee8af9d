import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import { createParser } from "eventsource-parser";
import type { TurnEvent, TurnResult } from "../../turn/events.ts";

export interface Network {
  addresses(): readonly string[];
  /** Only a killed process may break off a stream. */
  isKilled(address: string): boolean;
}

export type KeyedMessage = { key: string; body: object };

export interface Whims {
  /** Leaves after so many tokens, the first time after the first number and so on, and comes back. */
  leaves?: readonly number[];
  /** Leaves after so many tokens for good. */
  goesAfter?: number;
  /** Cancels the turn after so many tokens; what comes then is final, unless it `sendsAgain`. */
  cancelsAfter?: number;
  sendsAgain?: boolean;
  /** Comes back with the message and Last-Event-ID half of the time, not to the turn. */
  resends?: boolean;
}

export type ClientReport = ReturnType<typeof emptyReport>;

const emptyReport = (key: string) => ({
  key,
  done: null as TurnResult | null,
  failure: null as string | null,
  cancelled: false,
  gone: false,
  text: "",
  address: "",
  tries: 0,
  resumes: 0,
  breaks: 0,
  ms: 0,
  violations: [] as string[],
  journal: [] as string[],
});

const PATIENCE_MS = 90_000;
const LONGEST_PAUSE_MS = 1_000;
const RETRYABLE = new Set([408, 409, 425, 429, 502, 503, 504]);

type Ending = { kind: "over" } | { kind: "again"; afresh: boolean } | { kind: "left" };
const AGAIN: Ending = { kind: "again", afresh: false };
const AFRESH: Ending = { kind: "again", afresh: true };
const OVER: Ending = { kind: "over" };

/** By the words: in a test, errors of fetch are of other classes than here. */
const isBroken = ({ name, message }: Error): boolean => name === "TimeoutError" || message === "fetch failed" || message === "terminated";

/**
 * Sends a message and does not rest before its answer, or an error that is final: resumes when the connection breaks, retries with the same
 * key.
 */
export async function sendAndStay(
  network: Network,
  message: KeyedMessage,
  random: (below: number) => number,
  whims: Whims = {},
): Promise<ClientReport> {
  const began = performance.now();
  const report = emptyReport(message.key);
  const leaves = [...(whims.leaves ?? [])];
  let cancelsAfter = whims.cancelsAfter;
  let turnId: string | null = null;
  let lastEventId: string | null = null;
  const timeLeft = (): number => PATIENCE_MS - (performance.now() - began);
  const note = (what: string): void => void report.journal.push(`${new Date().toISOString().slice(11, -1)} ${what}`);
  function complain(what: string): void {
    note(`VIOLATION: ${what}`);
    report.violations.push(what);
  }

  function startOver(): void {
    [turnId, lastEventId, report.text] = [null, null, ""];
  }

  function chooseAddress(): string {
    const addresses = network.addresses();
    const others = addresses.filter((address) => address !== report.address);
    return (random(3) > 0 && others[0]) || (addresses[random(addresses.length)] as string);
  }

  async function cancel(id: string): Promise<void> {
    const addresses = network.addresses();
    const address = addresses[random(addresses.length)] as string;
    const answer = await fetch(`${address}/api/v1/turns/${id}/cancel`, { method: "POST", signal: AbortSignal.timeout(10_000) }).then(
      async (response) => `${response.status} ${await response.text()}`,
      (error: unknown) => String(error),
    );
    note(`cancel of ${id} at ${address}: ${answer}`);
  }

  async function request(address: string, signal: AbortSignal): Promise<Response> {
    const headers: Record<string, string> = lastEventId === null ? {} : { "last-event-id": lastEventId };
    if (turnId !== null && !(whims.resends && random(2) === 0)) {
      report.resumes++;
      note(`GET ${turnId} at ${address} behind ${lastEventId}`);
      return fetch(`${address}/api/v1/turns/${turnId}/stream`, { headers, signal });
    }
    report.tries++;
    note(`POST at ${address} behind ${lastEventId}`);
    return fetch(`${address}/api/v1/chat/stream`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json", "idempotency-key": message.key },
      body: JSON.stringify(message.body),
      signal,
    });
  }

  function onError(code: string, retryable: boolean): Ending {
    if (retryable && !report.cancelled) return AFRESH;
    report.failure = code;
    return OVER;
  }

  async function readRefusal(response: Response): Promise<Ending> {
    const text = await response.text();
    note(`${response.status} ${text}`);
    const { code } = (JSON.parse(text) as { error: { code: string } }).error;
    // The key is still known when the turn no longer is.
    if (turnId !== null && (response.status === 404 || response.status === 410)) return AFRESH;
    // A failed message stays without an answer once the conversation has gone on.
    return RETRYABLE.has(response.status) && code !== "turn_superseded" ? AGAIN : onError(code, false);
  }

  /** Reads events to the end, or until the client leaves. */
  async function readEvents(response: Response, leaving: AbortController): Promise<Ending> {
    let ending: Ending | undefined;
    let tokens = 0;
    function take(event: TurnEvent, id: string | undefined): void {
      if (ending?.kind === "left") return;
      if (ending) return complain(`${event.status} behind the end of a stream`);
      if (id === undefined) complain(`an event without an id: ${JSON.stringify(event)}`);
      lastEventId = id ?? lastEventId;
      if (event.status === "token") {
        report.text += event.content;
        tokens++;
        if (tokens === cancelsAfter && turnId !== null) {
          cancelsAfter = undefined;
          report.cancelled = !whims.sendsAgain;
          void cancel(turnId);
        }
        report.gone ||= tokens === whims.goesAfter;
        if (report.gone || tokens === leaves[0]) {
          leaves.shift();
          ending = { kind: "left" };
          leaving.abort();
        }
      }
      if (event.status === "done") {
        report.done = event.content;
        ending = OVER;
      }
      if (event.status === "error") ending = onError(event.content.code, event.content.retryable);
      if (event.status === "done" || event.status === "error") note(`${id} ${JSON.stringify(event).slice(0, 300)}`);
    }
    const parser = createParser({ onEvent: ({ id, data }) => take(JSON.parse(data) as TurnEvent, id) });
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk as Uint8Array, { stream: true }));
    if (!ending) complain("a stream ended with neither done nor error");
    return ending ?? AGAIN;
  }

  async function tryOnce(): Promise<Ending> {
    const address = chooseAddress();
    report.address = address;
    const leaving = new AbortController();
    let isStream = false;
    try {
      const response = await request(address, AbortSignal.any([leaving.signal, AbortSignal.timeout(Math.max(1, Math.ceil(timeLeft())))]));
      if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return await readRefusal(response);
      isStream = true;
      const told = response.headers.get("x-turn-id");
      // Another attempt has another answer. Who waited in line got the id of its own attempt, and then events of the one that another
      // process had begun for the same key: the ids of the events say which.
      const goesOn = lastEventId !== null && told?.endsWith(lastEventId.slice(lastEventId.lastIndexOf(".") + 1));
      if (told !== turnId && !goesOn) report.text = "";
      turnId = told;
      note(`200 ${turnId}`);
      return await readEvents(response, leaving);
    } catch (error) {
      if (leaving.signal.aborted) {
        note(`left behind ${lastEventId}`);
        return { kind: "left" };
      }
      if (!isBroken(error as Error)) throw error;
      report.breaks++;
      note(`broke behind ${lastEventId}: ${String(error)} ${inspect((error as Error).cause).split("\n")[0]}`);
      if (isStream && !network.isKilled(address)) complain(`the stream of a process that was not killed broke: ${String(error)}`);
      return AGAIN;
    }
  }

  for (let pause = 50; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    if (timeLeft() <= 0) {
      complain(`has neither an answer nor a final error within ${PATIENCE_MS} ms`);
      break;
    }
    const ending = await tryOnce();
    if (ending.kind === "over" || report.gone) break;
    if (ending.kind === "left") pause = 50;
    if (ending.kind === "again" && ending.afresh) startOver();
    await sleep(pause / 2 + random(pause));
  }
  report.ms = Math.round(performance.now() - began);
  if (report.done && report.done.answer !== report.text)
    complain(`put together ${JSON.stringify(report.text)} of an answer ${JSON.stringify(report.done.answer)}`);
  if (report.done && !report.done.completed) complain("done, but not completed");
  return report;
}
