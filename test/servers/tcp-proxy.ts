import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** Stands between the service and a server, so that a test can take that server away and bring it back. */
export interface TcpProxy {
  /** The same URL, through the proxy. */
  url: string;
  /** Resets every connection and refuses new ones. */
  refuse(): Promise<void>;
  /** Keeps every connection open and takes new ones, but lets nothing through any more. */
  freeze(): void;
  /** Lets requests through, but no replies. */
  loseReplies(): void;
  /** Lets every reply through so many milliseconds late. */
  delayReplies(milliseconds: number): void;
  /** Lets so many bytes of the reply to each request through, then resets the connection. */
  resetAfter(bytes: number): void;
  /** Answers every request itself, with these bytes, and closes the connection. */
  answerWith(bytes: string): void;
  /** Everything goes through again. What was held back is gone with its connection. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

export interface TcpProxyOptions {
  /** Only HTTP requests in which this stands are touched by what the proxy does; `refuse` then resets them when they come. */
  only?: string;
}

type Mode =
  | { name: "open" | "refusing" | "frozen" | "replies lost" }
  | { name: "slow"; milliseconds: number }
  | { name: "cutting"; bytes: number }
  | { name: "answering"; bytes: string };

/** What arrived reaches the other side before a reset does, in milliseconds. */
const BEFORE_RESET_MS = 50;
const HEAD_OF_REQUEST = /^(GET|POST) /;

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

export async function startTcpProxy(targetUrl: string, { only }: TcpProxyOptions = {}): Promise<TcpProxy> {
  const target = new URL(targetUrl);
  const sockets = new Set<Socket>();
  let mode: Mode = { name: "open" };
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    keep(client);
    const upstream = keep(connect(Number(target.port), target.hostname));
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
    client.on("close", () => upstream.destroy());

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

  const port = await listen(server, 0);
  const url = new URL(targetUrl);
  url.host = `127.0.0.1:${port}`;
  return {
    url: url.href,
    async refuse() {
      mode = { name: "refusing" };
      if (only === undefined) await stopListening();
    },
    freeze: () => void (mode = { name: "frozen" }),
    loseReplies: () => void (mode = { name: "replies lost" }),
    delayReplies: (milliseconds) => void (mode = { name: "slow", milliseconds }),
    resetAfter: (bytes) => void (mode = { name: "cutting", bytes }),
    answerWith: (bytes) => void (mode = { name: "answering", bytes }),
    async restore() {
      if (mode.name !== "open") resetAll();
      mode = { name: "open" };
      if (!server.listening) await listen(server, port);
    },
    close: stopListening,
  };
}
