import { expect, jest, test } from "@jest/globals";
import { startModelServer, type ChatRequestBody, type ModelScript } from "../../servers/model-server.ts";
import { killServiceProcesses, type ServiceProcess, startServiceProcess } from "../../servers/service-process.ts";
import { startHttpServer } from "../../servers/http-server.ts";
import { startTcpProxy } from "../../servers/tcp-proxy.ts";
import { messagesOf, postJson } from "../../support/clients/api-client.ts";
import { beginTurn, postTurn } from "../../support/clients/event-client.ts";
import { getTurn, streamTurn } from "../../support/clients/turn-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { useOpened } from "../../support/use-opened.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { LEASE_MS, MAIN } from "./tool-kills.ts";

jest.setTimeout(120_000);

const ORDERED = "It is ordered.";

/** Orders, and answers once the order is there. The model hangs in its first answers to `hangs` requests. */
function orders(hangs: { left: number }): (body: ChatRequestBody) => ModelScript {
  return ({ messages }) => {
    if (messages.at(-1)?.role !== "tool") return { toolCalls: [{ name: "order", arguments: { item: "tea" }, id: "call-1" }] };
    return hangs.left-- > 0 ? { tokens: ["It "], ending: "hang" } : { tokens: ["It is ", "ordered."] };
  };
}

const opened = useOpened(async () => {
  await using opening = new AsyncDisposableStack();
  const { url: databaseUrl, drop } = await createRealDatabase();
  opening.defer(() => killServiceProcesses().then(drop));
  const orderedAt: number[] = [];
  let holds = false;
  const counter = await startHttpServer((_request, response) => {
    orderedAt.push(Date.now());
    if (!holds) response.end();
  });
  opening.defer(() => counter.close());
  const model = await startModelServer();
  opening.defer(() => model.close());
  const environment = {
    ...{ DATABASE_URL: databaseUrl, OPENAI_BASE_URL: model.url, COUNTER_URL: counter.origin },
    ...{ ENABLE_SUMMARY: "false", TURN_LEASE_MS: String(LEASE_MS), SHUTDOWN_GRACE_MS: "100" },
  };
  const closing = opening.move();
  return {
    model,
    orderedAt,
    hold: (isHeld: boolean) => (holds = isHeld),
    databaseUrl,
    start: (more: Record<string, string> = {}): Promise<ServiceProcess> => startServiceProcess({ ...environment, ...more }, MAIN),
    close: () => closing.disposeAsync(),
  };
});

let session = 0;
const order = () => ({ user_id: "ada", session_id: `s${session++}`, message: "order tea", agent: "clerk" });

/** Begins a turn, whose stream breaks off with its process. */
async function beginAndStay(url: string): Promise<string> {
  const { turnId, ended } = await beginTurn(url, order());
  ended.catch(() => undefined);
  return turnId;
}

/** What is stored of the last session. */
const said = async (url: string): Promise<string[]> => (await messagesOf(url, "ada", `s${session - 1}`)).map(({ content }) => content);

/** Waits until the turn has this state at this process. */
async function untilTurn(url: string, turnId: string, state: string) {
  await waitUntil(`the turn ${state}`, async () => (await getTurn(url, turnId)).json.state === state, 30_000);
  return (await getTurn(url, turnId)).json;
}

test("a turn whose process is killed goes on in another process: no call is made again, and its readers are told all of it", async () => {
  const { model, orderedAt, start } = opened;
  orderedAt.length = 0;
  model.answer(orders({ left: 1 }));
  const [one, other] = [await start(), await start()];
  const turnId = await beginAndStay(one.url);
  await waitUntil("the second question to the model", () => model.seen.length >= 2);
  const reading = streamTurn(other.url, turnId);
  one.kill("SIGKILL");
  const { events } = await reading;
  expect(events.map(({ data }) => data.status)).toEqual(expect.arrayContaining(["tool_call", "tool_result", "token", "done"]));
  expect(events.at(-1)?.data.content).toMatchObject({ answer: ORDERED });
  expect(await untilTurn(other.url, turnId, "done")).toMatchObject({ attempts: 2, tool_calls: 1 });
  expect(orderedAt).toHaveLength(1);
  expect(await said(other.url)).toEqual(["order tea", ORDERED]);
  other.kill("SIGKILL");
});

test("a call that was cut off is asked about, and a turn is begun at most three times", async () => {
  const { model, orderedAt, hold, start } = opened;
  orderedAt.length = 0;
  hold(true);
  model.answer(orders({ left: 0 }));
  let place = await start();
  const turnId = await beginAndStay(place.url);
  await waitUntil("the order", () => orderedAt.length === 1);
  place.kill("SIGKILL");
  place = await start();
  const { question } = (await untilTurn(place.url, turnId, "waiting")) as unknown as { question: { id: string; question: string } };
  expect(question.question).toContain("It is not known whether this ran before");
  const answer = (): Promise<unknown> =>
    postJson(`${place.url}/api/v1/turns/${turnId}/answers`, { question_id: question.id, answer: "allow_once" });
  void answer().catch(() => undefined);
  await waitUntil("the second order", () => orderedAt.length === 2);
  place.kill("SIGKILL");
  place = await start();
  expect(await untilTurn(place.url, turnId, "waiting")).toMatchObject({ attempts: 3 });
  const again = (await getTurn(place.url, turnId)).json as unknown as { question: { id: string } };
  void postJson(`${place.url}/api/v1/turns/${turnId}/answers`, { question_id: again.question.id, answer: "allow_once" }).catch(
    () => undefined,
  );
  await waitUntil("the third order", () => orderedAt.length === 3);
  place.kill("SIGKILL");
  place = await start();
  expect(await untilTurn(place.url, turnId, "interrupted")).toMatchObject({ attempts: 3 });
  expect((await streamTurn(place.url, turnId)).events.at(-1)?.data).toMatchObject({
    status: "error",
    content: { code: "turn_interrupted" },
  });
  hold(false);
  place.kill("SIGKILL");
});

test("a process that stops hands its agents' turns to another one, and its readers are told so", async () => {
  const { model, orderedAt, start } = opened;
  [orderedAt.length, model.seen.length] = [0, 0];
  model.answer(orders({ left: 1 }));
  const [one, other] = [await start(), await start()];
  const { turnId, ended } = await beginTurn(one.url, order());
  await waitUntil("the second question to the model", () => model.seen.length >= 2);
  one.kill("SIGTERM");
  const { events } = await ended;
  expect(events.at(-1)?.data).toMatchObject({ status: "error", content: { code: "shutting_down" } });
  expect((await streamTurn(other.url, turnId)).events.at(-1)?.data).toMatchObject({ status: "done", content: { answer: ORDERED } });
  expect(orderedAt).toHaveLength(1);
  expect(await said(other.url)).toEqual(["order tea", ORDERED]);
  other.kill("SIGKILL");
});

test("processes whose clocks are two hours apart take over each other's turns, and wait for each other's questions", async () => {
  const { model, orderedAt, start } = opened;
  [orderedAt.length, model.seen.length] = [0, 0];
  model.answer(orders({ left: 1 }));
  const hour = 3_600_000;
  const [ahead, behind] = [await start({ CLOCK_SHIFT_MS: String(hour) }), await start({ CLOCK_SHIFT_MS: String(-hour) })];
  const turnId = await beginAndStay(ahead.url);
  await waitUntil("the second question to the model", () => model.seen.length >= 2);
  ahead.kill("SIGKILL");
  expect((await streamTurn(behind.url, turnId)).events.at(-1)?.data).toMatchObject({ status: "done", content: { answer: ORDERED } });
  expect(orderedAt).toHaveLength(1);

  const later = await start({ CLOCK_SHIFT_MS: String(hour) });
  const { turnId: asking } = await beginTurn(later.url, { ...order(), agent: "asks" });
  const { question } = (await untilTurn(later.url, asking, "waiting")) as unknown as { question: { id: string } };
  const reply = { question_id: question.id, answer: "allow_once" };
  expect((await postJson(`${behind.url}/api/v1/turns/${asking}/answers`, reply)).status).toBe(201);
  await untilTurn(later.url, asking, "done");
  expect(orderedAt).toHaveLength(2);
  for (const place of [behind, later]) place.kill("SIGKILL");
});

test("a process that loses the database for longer than its lease loses its turn, and writes nothing when it is back", async () => {
  const { model, orderedAt, databaseUrl, start } = opened;
  [orderedAt.length, model.seen.length] = [0, 0];
  model.answer(orders({ left: 1 }));
  const proxy = await startTcpProxy(databaseUrl);
  const [one, other] = [await start({ DATABASE_URL: proxy.url }), await start()];
  const reading = postTurn(one.url, order());
  await waitUntil("the second question to the model", () => model.seen.length >= 2);
  await proxy.refuse();
  await waitUntil("the answer of the other process", async () => (await said(other.url)).length === 2, 60_000);
  await proxy.restore();
  const { events } = await reading;
  expect(events.at(-1)?.data).toMatchObject({ status: "done", content: { answer: ORDERED } });
  expect(await said(other.url)).toEqual(["order tea", ORDERED]);
  expect(orderedAt).toHaveLength(1);
  for (const place of [one, other]) place.kill("SIGKILL");
  await proxy.close();
});

test("a process that hung and comes back writes nothing, and its reader gets the end that the other process made", async () => {
  const { model, orderedAt, start } = opened;
  orderedAt.length = 0;
  model.seen.length = 0;
  model.answer(orders({ left: 1 }));
  const [one, other] = [await start(), await start()];
  const reading = postTurn(one.url, order());
  await waitUntil("the second question to the model", () => model.seen.length >= 2);
  one.kill("SIGSTOP");
  await waitUntil("three questions to the model", () => model.seen.length >= 3, 30_000);
  await waitUntil("the answer", async () => (await said(other.url)).length === 2, 30_000);
  one.kill("SIGCONT");
  const { events } = await reading;
  expect(events.at(-1)?.data).toMatchObject({ status: "done", content: { answer: ORDERED } });
  expect(await said(other.url)).toEqual(["order tea", ORDERED]);
  expect(orderedAt).toHaveLength(1);
  for (const place of [one, other]) place.kill("SIGKILL");
});
