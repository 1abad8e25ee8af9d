import { describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { contentOf, postTurn, tokenText, type EventStreamResponse, type ReceivedEvent } from "../../support/clients/event-client.ts";
import type { ModelScript } from "../../servers/model-server.ts";
import { useServicesOnOneDatabase } from "../../support/services/services-on-one-database.ts";
import { getTurn, streamTurn } from "../../support/clients/turn-client.ts";

const HALF = "😀".charAt(0);
const OTHER_HALF = "😀".charAt(1);

const SCRIPTS: [string, ModelScript][] = [
  ["in words", { tokens: ["one ", "two ", "three ", "four"] }],
  ["in two scripts, with a character in two tokens", { tokens: ["答案", "是 ", HALF, `${OTHER_HALF} and `, "é́", "👩‍👩‍👧"] }],
  ["of one token", { tokens: ["all"] }],
  ["with NUL in it", { tokens: ["a\0", "\0b", "c"] }],
  ["that breaks off in the middle of a character", { tokens: ["one ", `two ${HALF}`], ending: "cut" }],
  ["that breaks off", { tokens: ["one ", "two "], ending: "cut" }],
  ["cut at its length", { tokens: ["one ", "two "], ending: "length" }],
];

/** One process tells from its memory, the other only has what is stored: as the first one, when the turn is no longer in its memory. */
describe("a turn that is told from memory first, then from its stored outcome", () => {
  const running = useServicesOnOneDatabase();

  const numberOf = ({ id }: ReceivedEvent): number => Number(id?.split(".")[0]);

  /** What two streams one after the other told: the answer once and whole, ids that rise, one end. */
  function expectWhole(had: ReceivedEvent[], rest: EventStreamResponse, live: EventStreamResponse): void {
    const events = [...had, ...rest.events];
    expect(rest.status).toBe(200);
    // Half a character, which no store can hold, is the replacement character there.
    expect(tokenText(events).toWellFormed()).toBe(tokenText(live.events).toWellFormed());
    const numbers = events.map(numberOf);
    expect(numbers).toEqual([...new Set(numbers)].toSorted((one, other) => one - other));
    const [end, ...more] = rest.events.filter(({ data }) => data.status === "done" || data.status === "error");
    expect(more).toEqual([]);
    const last = live.events.at(-1);
    expect(end).toBe(rest.events.at(-1));
    expect(end?.data.status).toBe(last?.data.status);
    if (last?.data.status !== "done") expect(end?.data).toEqual(last?.data);
    else {
      // The outcome is stored a moment before the end, so its times are a little shorter.
      const { timings, ...done } = contentOf(rest.events, "done");
      const { timings: whole, ...told } = last.data.content;
      expect(done).toEqual(told);
      expect(timings.first_token_ms).toBe(whole.first_token_ms);
    }
  }

  test.each(SCRIPTS)("goes on at every event and back again, %s", async (_what, script) => {
    const { model, here: memory, there: store } = running;
    model.answer({ betweenMs: 15, ...script });
    const live = await postTurn(memory.url, { user_id: "ada", session_id: uuidv7(), message: "hello" });
    const turnId = live.headers.get("x-turn-id") ?? "";
    const stored = await streamTurn(store.url, turnId);
    expectWhole([], stored, live);
    /** Goes on from memory behind each of these events but the last. */
    async function goOnFromMemory(had: ReceivedEvent[], events: ReceivedEvent[]): Promise<void> {
      for (const [place, { id }] of events.slice(0, -1).entries())
        expectWhole([...had, ...events.slice(0, place + 1)], await streamTurn(memory.url, turnId, { lastEventId: id }), live);
    }
    for (const [place, { id }] of live.events.slice(0, -1).entries()) {
      const had = live.events.slice(0, place + 1);
      const rest = await streamTurn(store.url, turnId, { lastEventId: id });
      expectWhole(had, rest, live);
      await goOnFromMemory(had, rest.events);
    }
    await goOnFromMemory([], stored.events);
  });

  test("told as done is done for whoever asks at that moment, in each process, and its key leads to the same", async () => {
    const { model, both } = running;
    model.answer({ tokens: ["Hi."] });
    for (let round = 0; round < 20; round++) {
      const body = { user_id: "ada", session_id: uuidv7(), message: "hello" };
      const headers = { "idempotency-key": uuidv7() };
      const seen: Promise<unknown>[] = [];
      const response = await postTurn(running.here.url, body, {
        headers,
        onEvent({ data }) {
          if (data.status !== "done") return;
          for (const { url } of both)
            seen.push(postTurn(url, body, { headers }).then(({ events }) => contentOf(events, "done").message_id));
        },
      });
      const turnId = response.headers.get("x-turn-id") ?? "";
      const { message_id } = contentOf(response.events, "done");
      const looks = await Promise.all(both.map(({ url }) => getTurn(url, turnId)));
      for (const { json } of looks) expect(json).toMatchObject({ state: "done", answer_message_id: message_id });
      expect(await Promise.all(seen)).toEqual([message_id, message_id]);
    }
  });
});
