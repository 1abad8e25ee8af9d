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
  /** Everything goes through again. What was held back by `freeze` or `loseReplies` is gone with its connection. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

type Mode = "open" | "frozen" | "replies lost";

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

export async function startTcpProxy(targetUrl: string): Promise<TcpProxy> {
  const target = new URL(targetUrl);
  const sockets = new Set<Socket>();
  let mode: Mode = "open";
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    keep(client);
    const upstream = keep(connect(Number(target.port), target.hostname));
    client.on("data", (bytes) => mode !== "frozen" && upstream.write(bytes)).on("close", () => upstream.destroy());
    upstream.on("data", (bytes) => mode === "open" && client.write(bytes)).on("close", () => client.destroy());
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
    refuse: stopListening,
    freeze: () => void (mode = "frozen"),
    loseReplies: () => void (mode = "replies lost"),
    async restore() {
      if (mode !== "open") resetAll();
      mode = "open";
      if (!server.listening) await listen(server, port);
    },
    close: stopListening,
  };
}
