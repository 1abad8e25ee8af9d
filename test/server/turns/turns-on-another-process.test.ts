import { beforeEach, describe, expect, test } from "@jest/globals";
import { createHash } from "node:crypto";
import { v7 as uuidv7 } from "uuid";
import { findResidualData } from "../../../memory/erase/find-residual-data.ts";
import { clearOldTurns } from "../../../stores/postgres/turns/turn-record-store.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { callApi, listConversations, messagesOf } from "../../support/clients/api-client.ts";
import {
  beginTurn,
  contentOf,
  readEvents,
  postTurn,
  tokenText,
  type EventStreamResponse,
  type ReceivedEvent,
} from "../../support/clients/event-client.ts";
import { tablesHolding } from "../../support/databases/scan-tables.ts";
import { useServicesOnOneDatabase } from "../../support/services/services-on-one-database.ts";
import { useOpened } from "../../support/use-opened.ts";
import { cancelTurn, getTurn, streamTurn } from "../../support/clients/turn-client.ts";
import type { ModelScript } from "../../servers/model-server.ts";

describe("in two processes,", () => {
  const running = useServicesOnOneDatabase({ ENABLE_CORE_MEMORY: "true" });
  const database = useOpened(() => openPostgres(running.databaseUrl));
  let userId: string;
  let sessionId: string;
  let key: string;
  beforeEach(() => {
    [userId, sessionId, key] = [`user ${uuidv7()}`, uuidv7(), uuidv7()];
    running.model.seen.splice(0);
  });
  const ask = ({ url } = running.here, message = "I live in Zanzibar.") =>
    beginTurn(url, { user_id: userId, session_id: sessionId, message }, { headers: { "idempotency-key": key } });
  const contents = async ({ url } = running.here) => (await messagesOf(url, userId, sessionId)).map(({ content }) => content);
  describe("erasing during a turn with a key", () => {
    test.each([
      ["user", () => `users/${encodeURIComponent(userId)}`, []],
      // What the user's models cost stays with the user.
      ["conversation", async () => `conversations/${(await listConversations(running.there.url, userId))[0]?.id}`, ["public.model_usage"]],
    ])("removes the turn with its %s from the tables, from memory and from its key", async (_what, pathOf, bills) => {
      const { model, here, there, both } = running;
      const release = model.hold(["I live in Zanzibar too."]);
      const asked = await ask();
      await model.untilAsked();
      const followed = await ask(there); // before the erasure: behind it, the key would begin another turn
      const erase = async (path: string) => (await callApi(`${there.url}/api/v1/${path}`, { method: "DELETE" })).status;
      expect(await erase(await pathOf())).toBe(200);
      release();
      const { turnId } = asked;
      for (const turn of [asked, followed]) {
        const message = expect.stringContaining("was deleted") as unknown;
        expect(contentOf((await turn.ended).events, "error")).toMatchObject({ code: "turn_superseded", message });
      }

      const keyHash = createHash("sha256").update(key).digest("base64url");
      const left = await findResidualData(database, null, { tenantId: "default", userId });
      expect(left.filter(({ place }) => !(bills as string[]).includes(place))).toEqual([]);
      for (const trace of [sessionId, turnId, keyHash, "Zanzibar"]) expect(await tablesHolding(database, trace)).toEqual({});
      if (bills.length === 0) expect(await tablesHolding(database, userId)).toEqual({});
      for (const { url } of both) {
        expect((await getTurn(url, turnId)).status).toBe(404);
        expect((await streamTurn(url, turnId)).status).toBe(404);
      }

      model.answer({ tokens: ["Who are you?"] });
      expect(contentOf((await (await ask(here)).ended).events, "done").answer).toBe("Who are you?");
      await erase(`users/${encodeURIComponent(userId)}`);
    });
  });
  describe("a turn of the day before", () => {
    const age = (turnId: string) =>
      database.query({
        text: "update turns set started_at = started_at - interval '25 hours', ended_at = ended_at - interval '25 hours' where id = $1",
        values: [turnId],
      });

    describe.each([
      ["and is emptied", true],
      ["and waits to be emptied", false],
    ])("that has ended %s", (_how, isEmptied) => {
      async function askYesterday(): Promise<string> {
        const { turnId, ended } = await ask();
        await ended;
        await age(turnId);
        if (isEmptied) expect(await clearOldTurns(database)).toBe(1);
        return turnId;
      }

      test("is gone in each process with its text, even when it is still in memory, while its messages stay", async () => {
        running.model.answer({ tokens: ["Hi."] });
        const turnId = await askYesterday();
        const gone = { status: 410, json: { error: { code: "turn_gone", message: expect.stringContaining(turnId) } } };
        for (const service of running.both) {
          expect(await getTurn(service.url, turnId)).toMatchObject(gone);
          expect(await streamTurn(service.url, turnId, { lastEventId: "1.0" })).toMatchObject(gone);
          expect((await cancelTurn(service.url, turnId)).json).toEqual({ turn_id: turnId, cancelled: false });
          expect(await contents(service)).toEqual(["I live in Zanzibar.", "Hi."]);
        }
      });

      test.each([
        ["done", { tokens: ["Hi."] }],
        ["failed", { status: 500 }],
      ])("gives its key to another message when it was %s", async (_outcome, script) => {
        running.model.answer(script);
        const turnId = await askYesterday();
        running.model.answer({ tokens: ["Again."] });
        const next = await ask(running.here, "another");
        expect(contentOf((await next.ended).events, "done").answer).toBe("Again.");
        expect(next.turnId).not.toBe(turnId);
        expect((await contents()).slice(-2)).toEqual(["another", "Again."]);
        expect((await ask(running.here, "another")).turnId).toBe(next.turnId);
        expect((await getTurn(running.there.url, turnId)).status).toBe(410);
      });
    });

    test("is not gone while it runs", async () => {
      const release = running.model.hold(["late"]);
      const { turnId, ended } = await ask();
      await age(turnId);
      await clearOldTurns(database);
      for (const { url } of running.both) expect((await getTurn(url, turnId)).json).toMatchObject({ state: "running" });
      const followed = await Promise.all(running.both.map(({ url }) => fetch(`${url}/api/v1/turns/${turnId}/stream`)));
      expect(followed.map(({ status }) => status)).toEqual([200, 200]);
      release();
      for (const stream of [ended, ...followed.map((response) => readEvents(response))]) {
        expect(contentOf((await stream).events, "done").answer).toBe("late");
      }
    });
  });
});

const HALF = "😀".charAt(0);
const OTHER_HALF = "😀".charAt(1);
const SCRIPTS: [string, ModelScript][] = [
  ["in words", { tokens: ["one ", "two ", "three ", "four"] }],
  ["in two scripts, with a character in two tokens", { tokens: ["答案", "是 ", HALF, `${OTHER_HALF} and `, "é́", "👩‍👩‍👧"] }],
  ["of one token", { tokens: ["all"] }],
  ["with NUL in it", { tokens: ["a\0", "\0b", "c"] }],
  ["that breaks off in the middle of a character", { tokens: ["one ", `two ${HALF}`], ending: "cut" }],
  ["that breaks off", { tokens: ["one ", "two "], ending: "cut" }],
  ["that is cut at its length", { tokens: ["one ", "two "], ending: "length" }],
];
/** One process tells from its memory, the other only has what is stored: as the first one, when the turn is no longer in its memory. */
describe("a turn that is read from memory and from its stored outcome", () => {
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

  test.each(SCRIPTS)("goes on in either of them after every event, with an answer %s", async (_what, script) => {
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

  test("is done for every request in each process as soon as its stream says so, and its key leads to it", async () => {
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
