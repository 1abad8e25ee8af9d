import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { messagesOf, postJson } from "../../support/clients/api-client.ts";
import { connectTo, postBytes, type RawConnection } from "../../support/clients/raw-connection.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { watchResponses } from "../../support/clients/watch-responses.ts";

/** About 5.7 MB on the wire, more than the system keeps for a connection: a control character takes six bytes in JSON. */
const TOKENS = Array.from({ length: 950 }, () => "\u0001".repeat(1_000));
const LONG_ANSWER = "long answer ".repeat(2_500);
const MEGABYTE = 1024 * 1024;
const READERS = 20;
/** Two seconds for whoever reads nothing, and a mean of half a mebibyte a second for the others. */
const IMPATIENT = { slowestReader: { graceMs: 2_000, bytesPerSecond: MEGABYTE / 2, checkMs: 100 } };

describe("a client that reads too slowly", () => {
  let running: ServiceWithModel;
  let watch: ReturnType<typeof watchResponses>;
  beforeAll(async () => {
    running = await openServiceWithModel({}, { connectionLimits: IMPATIENT });
    watch = watchResponses("/api/v1/chat/stream");
  });
  afterAll(async () => {
    watch.stop();
    await running.close();
  });

  /** Sends a request and takes `bytes` of the answer every 50 ms; none when it is 0. */
  async function readSlowly(request: string, bytes: number): Promise<RawConnection> {
    const connection = await connectTo(running.url);
    const { socket } = connection;
    socket.removeAllListeners("data");
    socket.pause();
    socket.write(request);
    const timer = setInterval(() => {
      if (bytes > 0) socket.read(Math.min(bytes, socket.readableLength));
    }, 50);
    void connection.closed.then(() => clearInterval(timer));
    return connection;
  }
  const turn = (sessionId: string, fields: object = {}): string =>
    postBytes("/api/v1/chat/stream", { user_id: "ada", session_id: sessionId, message: "much, please", ...fields });
  const stored = (sessionId: string) =>
    waitUntil("the stored answer", async () => (await messagesOf(running.url, "ada", sessionId))[1], 30_000);

  test.each([
    ["nothing", 0],
    ["one byte at a time", 1],
  ])(
    "%s, many at once on long answers, costs no memory and is dropped; with `continue` its turn is finished",
    async (_what, bytes) => {
      running.model.answer({ tokens: TOKENS });
      watch.responses.length = 0;
      const sessions = Array.from({ length: READERS }, (_, index) => `${bytes} bytes, ${index}`);
      const connections = await Promise.all(sessions.map((session) => readSlowly(turn(session, { on_disconnect: "continue" }), bytes)));
      await waitUntil(
        "the drop of all",
        () => watch.responses.length === READERS && watch.responses.every(({ response }) => response.closed),
        60_000,
      );
      for (const { response, mostBuffered } of watch.responses) {
        expect(response.writableFinished).toBe(false);
        expect(mostBuffered).toBeLessThan(MEGABYTE / 4);
      }
      for (const session of sessions) expect((await stored(session)).completed).toBe(true);
      for (const { socket } of connections) socket.destroy();
    },
    120_000,
  );

  test("ends its turn by being dropped, as by leaving, when nothing else was asked for", async () => {
    running.model.answer({ tokens: TOKENS, ending: "hang" });
    const { socket } = await readSlowly(turn("cancelled"), 0);
    expect((await stored("cancelled")).completed).toBe(false);
    socket.destroy();
  }, 60_000);

  test("is dropped from answers that are no streams, too", async () => {
    running.model.answer({ tokens: [LONG_ANSWER] });
    for (let index = 0; index < 4; index++) {
      const messages = Array.from({ length: 400 }, (_, at) => ({ role: at % 2 ? "assistant" : "user", content: LONG_ANSWER }));
      await postJson(`${running.url}/api/v1/conversations/import`, { user_id: "ada", session_id: "list", messages });
    }
    const { conversations } = (await running.service.get("/api/v1/conversations?user_id=ada")).json as unknown as Listed;
    const id = conversations.find(({ session_id }) => session_id === "list")?.id;
    const path = `/api/v1/conversations/${id}/messages?limit=200`;
    const listed = watchResponses(path);
    const { socket } = await readSlowly(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`, 0);
    await waitUntil("the drop", () => listed.responses[0]?.response.closed, 30_000);
    expect(listed.responses[0]?.response.writableFinished).toBe(false);
    listed.stop();
    socket.destroy();
  }, 60_000);

  test("is not one that is ahead of a slow model, or reads at a fair pace", async () => {
    running.model.answer({ tokens: Array.from({ length: 20 }, () => "word "), betweenMs: 250 });
    const patient = await connectTo(running.url);
    patient.socket.write(turn("patient"));
    await patient.until('"status":"done"');
    patient.socket.destroy();

    running.model.answer({ tokens: TOKENS });
    const fair = await readSlowly(turn("fair"), 128 * 1024); // 2.5 MiB a second
    await waitUntil("the end of the stream", () => watch.responses.at(-1)?.response.closed, 30_000);
    expect(watch.responses.at(-1)?.response.writableFinished).toBe(true);
    fair.socket.destroy();
  }, 60_000);
});

interface Listed {
  conversations: { id: string; session_id: string }[];
}
