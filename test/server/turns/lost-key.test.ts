import { beforeEach, describe, expect, test } from "@jest/globals";
import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuidv7 } from "uuid";
import { callApi, messagesOf } from "../../support/clients/api-client.ts";
import { contentOf, postTurn, readEvents, tokenText, type EventStreamResponse } from "../../support/clients/event-client.ts";
import { holdConversations } from "../../support/databases/hold-conversations.ts";
import { readMetrics } from "../../support/clients/read-metrics.ts";
import type { TestService } from "../../support/services/service.ts";
import { useServicesOnOneDatabase } from "../../support/services/services-on-one-database.ts";
import { getTurn, streamTurn } from "../../support/clients/turn-client.ts";

describe("a key that two processes were sent while its conversation was busy", () => {
  const running = useServicesOnOneDatabase();
  let sessionId: string;
  let headers: Record<string, string>;
  let release: () => void;
  beforeEach(() => {
    sessionId = uuidv7();
    headers = { "idempotency-key": uuidv7() };
    running.model.seen.splice(0);
    release = running.model.hold(["yes ", "indeed"]);
  });

  const ask = ({ url }: TestService, message: string, given: Record<string, string> = headers): Promise<EventStreamResponse> =>
    postTurn(url, { user_id: "ada", session_id: sessionId, message, on_busy: "enqueue" }, { headers: given });
  const begin = ({ url }: TestService, message: string): Promise<Response> =>
    fetch(`${url}/api/v1/chat/stream`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ user_id: "ada", session_id: sessionId, message, on_busy: "enqueue" }),
    });
  const idOf = (response: EventStreamResponse): string => response.headers.get("x-turn-id") ?? "";

  /** Sends the two messages, one to each process, behind one that holds the conversation. */
  async function sendBehindAnother(one: string, other: string): Promise<EventStreamResponse[]> {
    const { model, here, there } = running;
    const busy = ask(here, "first", {});
    await model.untilAsked();
    // Both answer with headers when they wait in line; a request that comes later would find the key at once.
    const waiting = await Promise.all([begin(here, one), begin(there, other)]);
    release();
    await busy;
    const responses = await Promise.all(waiting.map((response) => readEvents(response)));
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    return responses;
  }

  /** The outcome of each turn that was counted, in either process. */
  async function countedOf(): Promise<string[]> {
    const read = await Promise.all(running.both.map(({ url }) => readMetrics(url)));
    const counted = read.flatMap(({ samples }) => [...samples]).filter(([name]) => name.startsWith("conversation_graph_turns_total"));
    return counted.flatMap(([name, count]) => Array.from({ length: count }, () => /outcome="(\w+)"/.exec(name)?.[1] ?? ""));
  }
  const shownBy = async ({ url }: TestService) =>
    (await callApi<{ turns: { code: string | null }[] }>(`${url}/api/v1/status`)).json.turns.map(({ code }) => code);

  test("is refused in the stream that waits when the other process was sent another body with it", async () => {
    const responses = await sendBehindAnother("hello", "goodbye");
    const lasts = responses.map(({ events }) => events.at(-1)?.data).sort((last) => (last?.status === "done" ? -1 : 1));
    expect(lasts).toMatchObject([{ status: "done" }, { status: "error", content: { code: "idempotency_mismatch", retryable: false } }]);
    expect(await messagesOf(running.here.url, "ada", sessionId)).toHaveLength(4);
  });

  test("is attached to from the other process while its turn runs, with ids that lead on everywhere", async () => {
    const { model, both } = running;
    const lock = await holdConversations(running.databaseUrl);
    const sent = both.map((service) => ask(service, "hello"));
    await lock.untilATurnWaits();
    await sleep(200); // both, as a rule; else the second one finds the key at once
    await lock.release();
    await model.untilAsked();
    release();
    for (const [place, response] of (await Promise.all(sent)).entries()) {
      const { events } = response;
      expect(tokenText(events)).toBe("yes indeed");
      const first = events.findIndex(({ data }) => data.status === "token");
      const lastEventId = events[first]?.id ?? "";
      for (const rest of [
        await streamTurn(both[place]?.url ?? "", idOf(response), { lastEventId }),
        await ask(both[1 - place] ?? running.here, "hello", { ...headers, "last-event-id": lastEventId }),
      ]) {
        expect(tokenText(events.slice(0, first + 1)) + tokenText(rest.events)).toBe("yes indeed");
      }
    }
    expect(model.seen).toHaveLength(1);
  });

  test("is one turn, counted and shown once; the attempt that came too late is none, and its id leads to the turn", async () => {
    const { model, both, here } = running;
    const before = await countedOf();
    const responses = await sendBehindAnother("hello", "hello");
    for (const { events } of responses) expect(tokenText(events)).toBe("yes indeed");
    expect(new Set(responses.map(({ events }) => contentOf(events, "done").message_id)).size).toBe(1);
    expect(model.seen).toHaveLength(2);

    const stored = (await messagesOf(here.url, "ada", sessionId)).find(({ content }) => content === "hello");
    for (const [place, response] of responses.entries()) {
      const url = both[place]?.url ?? "";
      expect((await getTurn(url, idOf(response))).json).toMatchObject({ id: stored?.metadata["turn_id"], state: "done" });
      expect(tokenText((await streamTurn(url, idOf(response))).events)).toBe("yes indeed");
    }
    expect(await countedOf()).toEqual([...before, "done", "done"]);
    expect((await Promise.all(both.map(shownBy))).flat()).toEqual([...before, "done", "done"].map(() => null));
  });
});
