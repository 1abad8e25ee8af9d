import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { listConversations, listMessages, messagesOf, postJson } from "../../support/clients/api-client.ts";
import { beginTurn, contentOf, postTurn, tokenText, type EventStreamResponse } from "../../support/clients/event-client.ts";
import { useTestPostgres } from "../../support/databases/databases.ts";
import { useOpened } from "../../support/use-opened.ts";
import { openTestService } from "../../support/services/service.ts";
import { openServiceWithModel } from "../../support/services/service-with-model.ts";
import { killServiceProcesses, startServiceProcess, type ServiceProcess } from "../../servers/service-process.ts";
import { cancelTurn, getTurn, streamTurn } from "../../support/clients/turn-client.ts";

const WORDS = Array.from({ length: 10 }, (_, index) => `word${index} `);

/** Longer than a busy machine holds a process up: a turn whose lease ends loses its conversation to one that waits. */
const TURN_LEASE_MS = "10000";

const database = useTestPostgres();
const here = useOpened(() => openServiceWithModel({ DATABASE_URL: database.url, TURN_LEASE_MS }));
const startAnother = () => startServiceProcess({ DATABASE_URL: database.url, OPENAI_BASE_URL: here.model.url, TURN_LEASE_MS });
let there: ServiceProcess;
beforeAll(async () => {
  there = await startAnother();
});
afterAll(killServiceProcesses);

describe("many turns in two processes at once", () => {
  const SESSIONS = 5;
  const TURNS = 20;

  /** Posts all turns at once, every other one to the other process. */
  function postAll(userId: string, fields: object = {}, betweenMs = 20): Promise<EventStreamResponse[]> {
    here.model.answer(({ messages }) => ({ tokens: ["answer ", `to ${messages.at(-1)?.content}`], betweenMs }));
    return Promise.all(
      Array.from({ length: TURNS }, (_, index) => {
        const body = { user_id: userId, session_id: `session ${index % SESSIONS}`, message: `message ${index}`, ...fields };
        return postTurn([here, there][index % 2]?.url ?? "", body);
      }),
    );
  }

  /** Each user message is followed by the answer to it, of the same turn; returns how many turns there are. */
  async function expectWholeTurns(userId: string): Promise<number> {
    const listed = await listConversations(here.url, userId);
    expect(await listConversations(there.url, userId)).toEqual(listed);
    expect(listed).toHaveLength(SESSIONS);
    let turns = 0;
    for (const { id, message_count } of listed) {
      const messages = await listMessages(here.url, id);
      expect(messages).toHaveLength(message_count);
      expect(message_count % 2).toBe(0);
      for (let index = 0; index < messages.length; index += 2, turns++) {
        const [question, answer] = messages.slice(index, index + 2);
        expect([question?.role, answer?.role]).toEqual(["user", "assistant"]);
        expect(answer?.content).toBe(`answer to ${question?.content}`);
        expect(answer?.metadata["turn_id"]).toBe(question?.metadata["turn_id"]);
      }
    }
    return turns;
  }

  test("are taken one at a time in each conversation, and the others are refused as busy", async () => {
    const answers = await postAll("refused");
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.map(({ status, json }) => [status, json?.error.code])).toEqual(refused.map(() => [409, "conversation_busy"]));
    expect(refused.length).toBeGreaterThan(0);
    for (const { events } of answers.filter(({ status }) => status === 200)) expect(contentOf(events, "done").completed).toBe(true);
    expect(await expectWholeTurns("refused")).toBe(TURNS - refused.length);
  });

  test("with enqueue are all taken, one after the other", async () => {
    for (const { events } of await postAll("enqueued", { on_busy: "enqueue" })) expect(contentOf(events, "done").completed).toBe(true);
    expect(await expectWholeTurns("enqueued")).toBe(TURNS);
  });

  test("with interrupt replace each other, and all messages, the half answers and a whole last answer are stored", async () => {
    const answers = await postAll("interrupting", { on_busy: "interrupt" }, 500);
    const ends = answers.map(({ events }) => events.at(-1)?.data);
    const stopped = ends.filter((end) => end?.status === "error");
    expect(stopped.map((end) => end?.content)).toEqual(stopped.map(() => expect.objectContaining({ code: "turn_cancelled" })));
    expect(stopped.length).toBeGreaterThan(0);
    const questions: string[] = [];
    for (const { id } of await listConversations(here.url, "interrupting")) {
      const messages = await listMessages(here.url, id);
      expect(messages.at(-1)).toMatchObject({ role: "assistant", completed: true });
      for (const [index, { role, content, completed, metadata }] of messages.entries()) {
        const before = messages[index - 1];
        if (role === "user") questions.push(content);
        else expect([before?.role, before?.metadata["turn_id"]]).toEqual(["user", metadata["turn_id"]]);
        if (completed && role === "assistant") expect(content).toBe(`answer to ${before?.content}`);
      }
    }
    expect(questions.toSorted()).toEqual(Array.from({ length: TURNS }, (_, index) => `message ${index}`).toSorted());
  });
});

describe("a turn of another process on the same Postgres", () => {
  let sessionId: string;
  let headers: { "idempotency-key": string };
  beforeEach(() => {
    sessionId = uuidv7();
    headers = { "idempotency-key": uuidv7() };
    here.model.answer({ tokens: WORDS, betweenMs: 100 });
    here.model.seen.splice(0);
  });

  const ask = (fields: object = {}): object => ({ user_id: "ada", session_id: sessionId, message: "hello", ...fields });
  const send = (url: string, fields: object = {}): Promise<EventStreamResponse> => postTurn(url, ask(fields), { headers });
  const stored = async () => (await messagesOf(here.url, "ada", sessionId)).map(({ content, completed }) => [content, completed]);
  const idOf = (response: { headers: Headers }): string => response.headers.get("x-turn-id") ?? "";
  const statuses = ({ events }: EventStreamResponse): string[] => events.map(({ data }) => data.status);

  /** A turn that has begun in the other process and said its first token. */
  async function startThere(): Promise<{ turnId: string; ended: Promise<EventStreamResponse> }> {
    const { promise: streaming, resolve } = Promise.withResolvers<void>();
    const turn = await beginTurn(there.url, ask(), { headers, onEvent: ({ data }) => void (data.status === "token" && resolve()) });
    await streaming;
    return turn;
  }

  test("can be followed to its end from here, and only the missing part is sent", async () => {
    const { turnId, ended } = await startThere();
    expect((await getTurn(here.url, turnId)).json).toMatchObject({ state: "running" });
    const followed = await streamTurn(here.url, turnId, { lastEventId: "3.10" });
    expect(tokenText(followed.events)).toBe(WORDS.join("").slice(10));
    expect(statuses(followed)).toEqual(["token", "done"]);
    const { timings: early, ...done } = contentOf(followed.events, "done");
    const { timings: whole, ...live } = contentOf((await ended).events, "done");
    expect(done).toEqual(live);
    expect(early.first_token_ms).toBe(whole.first_token_ms);
    expect(statuses(await streamTurn(here.url, turnId))).toEqual(["route_decision", "token", "done"]);
    expect((await getTurn(here.url, turnId)).json).toMatchObject({ state: "done", completed: true });
  });

  test("can be followed elsewhere when the process that follows it stops", async () => {
    here.model.answer({ tokens: WORDS, betweenMs: 300 });
    const stopping = await openTestService({ DATABASE_URL: database.url, OPENAI_BASE_URL: here.model.url });
    const { turnId, ended } = await startThere();
    const followed = streamTurn(stopping.url, turnId, { lastEventId: "3.10" });
    await expect(getTurn(stopping.url, turnId)).resolves.toMatchObject({ json: { state: "running" } });
    await stopping.close();
    const { events } = await followed;
    const message = expect.stringContaining("Request its stream again") as unknown;
    expect(contentOf(events, "error")).toMatchObject({ code: "shutting_down", message });
    const lastEventId = events.at(-1)?.id;
    expect(tokenText((await streamTurn(here.url, turnId, { lastEventId })).events)).toBe(WORDS.join("").slice(10));
    await ended;
  });

  test("can be cancelled from here", async () => {
    here.model.answer({ tokens: ["half "], ending: "hang" });
    const { turnId, ended } = await startThere();
    expect((await cancelTurn(here.url, turnId)).json).toEqual({ turn_id: turnId, cancelled: true });
    expect(contentOf((await ended).events, "error").code).toBe("turn_cancelled");
    expect((await stored())[1]).toEqual(["half ", false]);
    expect((await cancelTurn(here.url, turnId)).json.cancelled).toBe(false);
    const { events } = await streamTurn(here.url, turnId);
    expect([tokenText(events), contentOf(events, "error").code]).toEqual(["half ", "turn_cancelled"]);
  });

  test("can be interrupted from here, and its half answer is kept as incomplete", async () => {
    here.model.answer(({ messages }) =>
      messages.at(-1)?.content === "hello" ? { tokens: ["half "], ending: "hang" } : { tokens: ["whole"] },
    );
    const { ended } = await startThere();
    const next = await postTurn(here.url, ask({ message: "stop, tell me this", on_busy: "interrupt" }));
    expect(contentOf(next.events, "done")).toMatchObject({ answer: "whole", receipt: { window_messages: 1 } });
    expect(contentOf((await ended).events, "error").code).toBe("turn_cancelled");
    expect(await stored()).toEqual([
      ["hello", true],
      ["half ", false],
      ["stop, tell me this", true],
      ["whole", true],
    ]);
  });

  test("is found here by its key while it runs and afterwards, streamed or whole", async () => {
    const { turnId, ended } = await startThere();
    const [streamed, whole] = await Promise.all([send(here.url), postJson<{ answer: string }>(`${here.url}/api/v1/chat`, ask(), headers)]);
    expect([streamed, whole].map(idOf)).toEqual([turnId, turnId]);
    expect([tokenText(streamed.events), whole.json.answer]).toEqual([WORDS.join(""), WORDS.join("")]);
    const { message_id } = contentOf((await ended).events, "done");
    for (const { events } of [streamed, await send(here.url)]) expect(contentOf(events, "done").message_id).toBe(message_id);
    expect(await send(here.url, { message: "another" })).toMatchObject({ status: 422 });
    expect(here.model.seen).toHaveLength(1);
  });

  test.each(["refuse", "enqueue", "interrupt"])(
    "is a single turn for six requests in both processes at once, with on_busy %s",
    async (on_busy) => {
      const together = await Promise.all([here, there, here, there, here, there].map(({ url }) => send(url, { on_busy })));
      expect(together.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
      expect(new Set(together.map(({ events }) => contentOf(events, "done").message_id)).size).toBe(1);
      for (const { events } of together) expect(tokenText(events)).toBe(WORDS.join(""));
      expect(here.model.seen).toHaveLength(1);
      expect(await stored()).toHaveLength(2);
    },
  );

  test("is interrupted when its process is killed, and its key runs it again here for the stored message", async () => {
    here.model.answer({ tokens: ["half "], ending: "hang" });
    const { turnId, ended } = await startThere();
    there.kill("SIGKILL");
    await Promise.allSettled([there.exited, ended]);
    const followed = await streamTurn(here.url, turnId);
    expect(contentOf(followed.events, "error")).toMatchObject({ code: "turn_interrupted", retryable: true });
    expect((await getTurn(here.url, turnId)).json).toMatchObject({ state: "interrupted", error: { code: "turn_interrupted" } });
    here.model.answer({ tokens: ["whole"] });
    const again = contentOf((await send(here.url)).events, "done");
    expect(again).toMatchObject({ answer: "whole", completed: true, receipt: { window_messages: 0 } });
    expect(await stored()).toEqual([
      ["hello", true],
      ["whole", true],
    ]);
    there = await startAnother();
    expect(contentOf((await send(there.url)).events, "done").message_id).toBe(again.message_id);
  });
});
