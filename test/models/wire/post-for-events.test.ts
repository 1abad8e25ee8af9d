import { describe, expect, test } from "@jest/globals";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { ConnectionError, postForEvents, type Post } from "../../../models/wire/post-for-events.ts";
import { startHttpServer } from "../../servers/http-server.ts";
import { freePort } from "../../servers/free-port.ts";
import { useOpened } from "../../support/use-opened.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { createOpenAIChatModel } from "../../../models/openai-chat-model.ts";
import { askModel } from "./ask-dialect.ts";
import { type Dialect, expectedOf, REPLIES, repliesOf, type ReplyName } from "./dialect.ts";
import { startDialectServer } from "./dialect-server.ts";
import { dialectNamed, DIALECTS } from "./dialects.ts";

/** Accepts connections and says nothing. */
async function startSilentServer() {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket.on("error", () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
describe("postForEvents", () => {
  let answer: (response: ServerResponse, request: IncomingMessage) => unknown;
  const server = useOpened(() => startHttpServer((request, response) => void request.resume().on("end", () => answer(response, request))));
  const silent = useOpened(startSilentServer);
  const post = (fields: Partial<Post> = {}) => postForEvents({ url: new URL(server.origin), headers: {}, body: "{}", ...fields });

  test("asks again over a new connection when the server closed a kept one meanwhile", async () => {
    const ports: (number | undefined)[] = [];
    answer = (response, { socket }) => {
      const isKept = ports.includes(socket.remotePort);
      ports.push(socket.remotePort);
      if (isKept) socket.resetAndDestroy();
      else response.end("data: yes\n\n");
    };
    await waitUntil("a kept connection", async () => {
      expect(await (await post()).text()).toBe("data: yes\n\n");
      return new Set(ports).size < ports.length;
    });
  });

  test("fails, and does not ask again, when the server closes a new connection", async () => {
    let asked = 0;
    answer = (_response, { socket }) => {
      asked++;
      socket.resetAndDestroy();
    };
    await expect(post()).rejects.toThrow(ConnectionError); // of a kept connection nothing is left behind this
    asked = 0;
    await expect(post()).rejects.toThrow(ConnectionError);
    expect(asked).toBe(1);
  });

  test("fails when nothing listens, and when the connection does not stand in time", async () => {
    const nowhere = new URL(`http://127.0.0.1:${await freePort()}`);
    await expect(post({ url: nowhere })).rejects.toMatchObject({ name: "ConnectionError", cause: { code: "ECONNREFUSED" } });
    const withoutTls = new URL(`https://127.0.0.1:${silent.port}`);
    await expect(post({ url: withoutTls, connectMs: 50 })).rejects.toThrow(ConnectionError);
  });

  test("gives up after six redirects, and leaves redirects of other kinds to the caller", async () => {
    let status = 307;
    let asked = 0;
    answer = (response) => {
      asked++;
      response.writeHead(status, { location: "/again" }).end();
    };
    expect((await post()).status).toBe(307);
    expect(asked).toBe(6);
    status = 302;
    expect((await post()).status).toBe(302);
    expect(asked).toBe(7);
  });

  test("throws the signal's reason, before the answer and within", async () => {
    const reason = new Error("stopped");
    answer = () => undefined;
    await expect(post({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    answer = (response) => response.write("data: one\n\n");
    const { events } = await post({ signal: controller.signal });
    const read = async (): Promise<void> => {
      for await (const [event] of events()) if (event?.data === "one") controller.abort(reason);
    };
    await expect(read()).rejects.toBe(reason);
  });
});

describe("the dialects of servers", () => {
  const server = useOpened(startDialectServer);
  const modelFor = (dialect: Dialect, reply: ReplyName) =>
    createOpenAIChatModel({ model: "m", apiKey: "a key", baseUrl: server.addressOf(dialect, reply) });
  const REPLIES_IN_WORDS: Readonly<Record<ReplyName, string>> = { words: "words", calls: "calls", both: "words and calls" };
  const SPOKEN = DIALECTS.flatMap((dialect) =>
    repliesOf(dialect).map((reply) => ({ ...dialect, dialect, reply, said: REPLIES_IN_WORDS[reply] })),
  );
  describe("the chat model understands", () => {
    test.each(SPOKEN)("$said in the dialect “$name” of $servers", async ({ dialect, reply }) => {
      const { streamed, ids, ...read } = await askModel(modelFor(dialect, reply));
      expect(read).toEqual(expectedOf(dialect, REPLIES[reply]));
      expect(new Set(ids.filter(Boolean)).size).toBe(read.calls.length);
      if (dialect.tags?.[0] !== "") expect(streamed).toBe(read.text);
    });
  });
  describe("a model whose thoughts have no opening tag", () => {
    const dialect = dialectNamed("a closing tag alone");

    test("takes back what it said of them the first time, and says nothing of them the next time", async () => {
      const model = modelFor(dialect, "words");
      const { text, thoughts } = REPLIES.words;
      const [first, second] = [await askModel(model), await askModel(model)];
      expect([first.text, first.thoughts, second.text, second.thoughts]).toEqual([text, thoughts, text, thoughts]);
      expect(first.streamed).toContain("Zwielicht");
      expect(second.streamed).toBe(text);
    });
  });
  test("every dialect has a name of its own, and says who speaks it", () => {
    const names = DIALECTS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(DIALECTS.filter(({ servers }) => servers.trim() === "")).toEqual([]);
  });
});
