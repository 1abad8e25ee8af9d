import type { Server } from "node:net";
import { freePort } from "./free-port.ts";
import { makeProxyServer, proxyUrl } from "./proxy-connections.ts";

export type TcpProxy = Awaited<ReturnType<typeof startTcpProxy>>;

type Mode =
  | { name: "open" | "refusing" | "frozen" | "replies lost" }
  | { name: "slow"; milliseconds: number }
  | { name: "cutting"; bytes: number }
  | { name: "answering"; bytes: string };

/** Milliseconds in which what arrived reaches the other side before a reset. */
const BEFORE_RESET_MS = 50;
const HEAD_OF_REQUEST = /^(GET|POST) /;

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
}

/**
 * Stands between the service and a server, to take that away and bring it back. With `only`, no other requests than those with this text
 * are touched.
 */
export async function startTcpProxy(targetUrl: string, { only }: { only?: string } = {}) {
  let mode: Mode = { name: "open" };
  const { server, sockets } = makeProxyServer(targetUrl, (client, upstream) => {
    let isTouched = only === undefined;
    let replied = 0;

    client.on("data", (bytes) => {
      replied = 0;
      if (only !== undefined) {
        const text = bytes.toString("latin1");
        if (HEAD_OF_REQUEST.test(text)) isTouched = false;
        isTouched ||= text.includes(only);
      }
      const name = isTouched ? mode.name : "open";
      if (name === "refusing") client.resetAndDestroy();
      else if (name === "answering" && mode.name === "answering") client.end(mode.bytes);
      else if (name !== "frozen") upstream.write(bytes);
    });

    upstream.on("data", (bytes) => {
      const now: Mode = isTouched ? mode : { name: "open" };
      if (now.name === "open") client.write(bytes);
      else if (now.name === "slow") setTimeout(() => client.write(bytes), now.milliseconds);
      else if (now.name === "cutting" && replied < now.bytes) {
        client.write(bytes.subarray(0, now.bytes - replied));
        replied += bytes.length;
        if (replied >= now.bytes) setTimeout(() => client.resetAndDestroy(), BEFORE_RESET_MS);
      }
    });
    upstream.on("close", () => {
      if (mode.name === "slow" && isTouched) setTimeout(() => client.destroy(), mode.milliseconds + BEFORE_RESET_MS);
      else if (mode.name !== "answering") client.destroy();
    });
  });
  const resetAll = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  const stopListening = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    resetAll();
    await closed;
  };

  const port = await freePort();
  await listen(server, port);
  return {
    url: proxyUrl(targetUrl, server),
    /** Resets every connection and refuses new ones; with `only`, resets requests when they come. */
    async refuse(): Promise<void> {
      mode = { name: "refusing" };
      if (only === undefined) await stopListening();
    },
    /** Connections stay open, and nothing goes through. */
    freeze: () => void (mode = { name: "frozen" }),
    /** Only requests go through. */
    loseReplies: () => void (mode = { name: "replies lost" }),
    delayReplies: (milliseconds: number) => void (mode = { name: "slow", milliseconds }),
    /** So many bytes of the reply to each request go through, then the connection is reset. */
    resetAfter: (bytes: number) => void (mode = { name: "cutting", bytes }),
    answerWith: (bytes: string) => void (mode = { name: "answering", bytes }),
    /** What was held back is gone with its connection. */
    async restore(): Promise<void> {
      if (mode.name !== "open") resetAll();
      mode = { name: "open" };
      if (!server.listening) await listen(server, port);
    },
    close: stopListening,
  };
}
