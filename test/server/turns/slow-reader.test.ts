import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { messagesOf } from "../../support/clients/api-client.ts";
import { connectTo, parseChunkedResponse, postBytes, type RawConnection } from "../../support/clients/raw-connection.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { watchResponses, type WatchedResponse } from "../../support/clients/watch-responses.ts";

/** A control character takes six bytes in JSON: about 5.7 MB on the wire, more than the system keeps for a connection. */
const TOKENS = Array.from({ length: 950 }, () => "\u0001".repeat(1_000));
const MEGABYTE = 1024 * 1024;

describe("a client that stops reading", () => {
  let running: ServiceWithModel;
  let watch: ReturnType<typeof watchResponses>;
  beforeAll(async () => {
    running = await openServiceWithModel();
    watch = watchResponses("/api/v1/chat/stream");
  });
  afterAll(async () => {
    watch.stop();
    await running.close();
  });

  /** Starts a turn and reads no more than its head; resolves when the service has noticed. */
  async function startUnread(sessionId: string): Promise<{ connection: RawConnection; watched: WatchedResponse }> {
    const connection = await connectTo(running.url);
    connection.socket.once("data", () => connection.socket.pause());
    const before = watch.responses.length;
    connection.socket.write(postBytes("/api/v1/chat/stream", { user_id: "ada", session_id: sessionId, message: "much, please" }));
    const watched = await waitUntil("a response that waits for its reader", () =>
      watch.responses.slice(before).find(({ response }) => response.writableNeedDrain),
    );
    return { connection, watched };
  }

  test("holds up neither the turn nor others, and reads everything when it goes on", async () => {
    running.model.answer({ tokens: TOKENS });
    const { connection, watched } = await startUnread("patient");
    const stored = await waitUntil("the stored turn", async () => (await messagesOf(running.url, "ada", "patient"))[1]);
    expect(stored).toMatchObject({ completed: true });
    expect(stored.content === TOKENS.join("")).toBe(true);
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

  test("gets what has piled up piece by piece when it goes on, not in one write", async () => {
    running.model.answer({ tokens: TOKENS, ending: "hang" });
    const { connection, watched } = await startUnread("behind");
    await sleep(1_000);
    connection.socket.resume();
    const lastToken = `id: ${TOKENS.length + 1}.`;
    await connection.until(lastToken);
    expect(watched.mostBuffered).toBeLessThan(MEGABYTE);
    connection.socket.destroy();
    await waitUntil("the partial answer", async () => (await messagesOf(running.url, "ada", "behind"))[1]);
  });

  test("and then leaves ends the turn like any that leaves", async () => {
    running.model.answer({ tokens: TOKENS, ending: "hang" });
    const { connection, watched } = await startUnread("gone");
    connection.socket.destroy();
    const stored = await waitUntil("the partial answer", async () => (await messagesOf(running.url, "ada", "gone"))[1]);
    expect(stored.completed).toBe(false);
    await waitUntil("the model's connection closed", () => running.model.seen.at(-1)?.aborted);
    await waitUntil("the response closed", () => watched.response.closed);
  });

  test("does not keep the service from stopping", async () => {
    running.model.answer({ tokens: TOKENS });
    const { connection, watched } = await startUnread("stubborn");
    await waitUntil("the stored turn", async () => (await messagesOf(running.url, "ada", "stubborn"))[1]);
    const began = performance.now();
    await running.close();
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(watched.response.closed).toBe(true);
    connection.socket.destroy();
  });
});
