import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { listConversations, type ListedMessage, messagesOf, postJson } from "../../support/clients/api-client.ts";
import { connectTo, parseChunkedResponse, postBytes, type RawConnection } from "../../support/clients/raw-connection.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { watchResponses, type WatchedResponse } from "../../support/clients/watch-responses.ts";

/** About 5.7 MB on the wire, more than the system keeps for a connection: a control character takes six bytes in JSON. */
const TOKENS = Array.from({ length: 950 }, () => "\u0001".repeat(1_000));
const LONG_ANSWER = "long answer ".repeat(2_500);
const MEGABYTE = 1024 * 1024;
const READERS = 4;
/** Two seconds for whoever reads nothing, and a mean of half a mebibyte a second for the others. */
const IMPATIENT = { slowestReader: { graceMs: 2_000, bytesPerSecond: MEGABYTE / 2, checkMs: 100 } };

let running: ServiceWithModel;
let watch: ReturnType<typeof watchResponses>;
function useService(options: Parameters<typeof openServiceWithModel>[1]): void {
  beforeAll(async () => {
    running = await openServiceWithModel({}, options);
    watch = watchResponses("/api/v1/chat/stream");
  });
  afterAll(async () => {
    watch.stop();
    await running.close();
  });
}

const turn = (sessionId: string, fields: object = {}): string =>
  postBytes("/api/v1/chat/stream", { user_id: "ada", session_id: sessionId, message: "much, please", ...fields });
const stored = (sessionId: string): Promise<ListedMessage> =>
  waitUntil("the stored answer", async () => (await messagesOf(running.url, "ada", sessionId))[1]);

describe("a client that stops reading", () => {
  useService({});

  /** Starts a turn and reads no more than its head; resolves when the service has noticed. */
  async function startUnread(sessionId: string): Promise<{ connection: RawConnection; watched: WatchedResponse }> {
    const connection = await connectTo(running.url);
    connection.socket.once("data", () => connection.socket.pause());
    const before = watch.responses.length;
    connection.socket.write(turn(sessionId));
    const watched = await waitUntil("a response that waits for its reader", () =>
      watch.responses.slice(before).find(({ response }) => response.writableNeedDrain),
    );
    return { connection, watched };
  }

  test("delays neither its turn nor other clients, and gets everything when it reads again", async () => {
    running.model.answer({ tokens: TOKENS });
    const { connection, watched } = await startUnread("patient");
    const { completed, content } = await stored("patient");
    expect(completed && content === TOKENS.join("")).toBe(true);
    expect(watched.response.writableNeedDrain).toBe(true);
    expect(watched.mostBuffered).toBeLessThan(MEGABYTE);

    connection.socket.resume();
    await waitUntil("the end of the stream", () => watched.response.writableFinished && connection.received().endsWith("\r\n0\r\n\r\n"));
    connection.socket.destroy();
    const frames = parseChunkedResponse(connection.received()).chunks.join("").split("\n\n").slice(0, -1);
    const events = frames.map((frame) => JSON.parse(frame.slice(frame.indexOf("data: ") + 6)) as { status: string; content: unknown });
    expect(events.map(({ status }) => status)).toEqual(["route_decision", ...TOKENS.map(() => "token"), "done"]);
    expect(events.at(-1)?.content).toMatchObject({ answer: TOKENS.join("") });
  });

  test("gets the waiting events piece by piece when it reads again, and ends its turn when it leaves", async () => {
    running.model.answer({ tokens: TOKENS, ending: "hang" });
    const { connection, watched } = await startUnread("behind");
    await sleep(1_000);
    connection.socket.resume();
    await connection.until(`id: ${TOKENS.length + 1}.`);
    expect(watched.mostBuffered).toBeLessThan(MEGABYTE);
    const gone = await startUnread("gone");
    for (const { socket } of [connection, gone.connection]) socket.destroy();
    for (const session of ["behind", "gone"]) expect((await stored(session)).completed).toBe(false);
    await waitUntil("the model's connection closed", () => running.model.seen.at(-1)?.aborted);
    await waitUntil("the responses closed", () => watched.response.closed && gone.watched.response.closed);
  });

  test("does not keep the service from stopping", async () => {
    running.model.answer({ tokens: TOKENS });
    const { connection, watched } = await startUnread("stubborn");
    await stored("stubborn");
    await running.close();
    expect(watched.response.closed).toBe(true);
    connection.socket.destroy();
  });
});

describe("a client that reads too slowly", () => {
  useService({ connectionLimits: IMPATIENT });

  /** Sends a request and takes `bytes` of the answer every 50 ms; none when it is 0. */
  async function readSlowly(request: string, bytes: number): Promise<RawConnection> {
    const connection = await connectTo(running.url);
    const { socket } = connection;
    socket.removeAllListeners("data");
    socket.pause();
    socket.write(request);
    const timer = setInterval(() => void (bytes > 0 && socket.read(Math.min(bytes, socket.readableLength))), 50);
    void connection.closed.then(() => clearInterval(timer));
    return connection;
  }

  test.each([
    ["nothing", 0],
    ["one byte at a time", 1],
  ])("and takes %s of a long answer costs no memory and is dropped, and with `continue` its turn is finished", async (_what, bytes) => {
    running.model.answer({ tokens: TOKENS });
    watch.responses.length = 0;
    const sessions = Array.from({ length: READERS }, (_, index) => `${bytes} bytes, ${index}`);
    const connections = await Promise.all(sessions.map((session) => readSlowly(turn(session, { on_disconnect: "continue" }), bytes)));
    const areDropped = () => watch.responses.length === READERS && watch.responses.every(({ response }) => response.closed);
    await waitUntil("the drop of all", areDropped);
    for (const { response, mostBuffered } of watch.responses) {
      expect(response.writableFinished).toBe(false);
      expect(mostBuffered).toBeLessThan(MEGABYTE / 4);
    }
    for (const session of sessions) expect((await stored(session)).completed).toBe(true);
    for (const { socket } of connections) socket.destroy();
  });

  test("ends its turn when it is dropped, unless it asked for something else", async () => {
    running.model.answer({ tokens: TOKENS, ending: "hang" });
    const { socket } = await readSlowly(turn("cancelled"), 0);
    expect((await stored("cancelled")).completed).toBe(false);
    socket.destroy();
  });

  test("is dropped from answers that are not streams, too", async () => {
    const messages = Array.from({ length: 200 }, (_, at) => ({ role: at % 2 ? "assistant" : "user", content: LONG_ANSWER }));
    await postJson(`${running.url}/api/v1/conversations/import`, { user_id: "lists", session_id: "s", messages });
    const [conversation] = await listConversations(running.url, "lists");
    const path = `/api/v1/conversations/${conversation?.id}/messages?limit=200`;
    const listed = watchResponses(path);
    const { socket } = await readSlowly(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`, 0);
    await waitUntil("the drop", () => listed.responses[0]?.response.closed);
    expect(listed.responses[0]?.response.writableFinished).toBe(false);
    listed.stop();
    socket.destroy();
  });

  test("is not confused with one that waits for a slow model or reads at a fair pace", async () => {
    running.model.answer({ tokens: Array.from({ length: 20 }, () => "word "), betweenMs: 250 });
    const patient = await connectTo(running.url);
    patient.socket.write(turn("patient"));
    await patient.until('"status":"done"');
    patient.socket.destroy();

    running.model.answer({ tokens: TOKENS });
    const fair = await readSlowly(turn("fair"), 128 * 1024); // 2.5 MiB a second
    await waitUntil("the end of the stream", () => watch.responses.at(-1)?.response.closed);
    expect(watch.responses.at(-1)?.response.writableFinished).toBe(true);
    fair.socket.destroy();
  });
});
