import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A server, still to listen, that connects each of its clients with the target; `connected` passes on what they say. */
export function makeProxyServer(
  targetUrl: string,
  connected: (client: Socket, upstream: Socket) => void,
): { server: Server; sockets: Set<Socket> } {
  const target = new URL(targetUrl);
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    keep(client);
    const upstream = keep(connect(Number(target.port), target.hostname));
    client.on("close", () => upstream.destroy());
    connected(client, upstream);
  });
  return { server, sockets };
}

/** The target's address with the port of the proxy. */
export function proxyUrl(targetUrl: string, server: Server): string {
  const url = new URL(targetUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return url.href;
}

/** The same, listening, with the address that stands for the target's. */
export async function startProxy(targetUrl: string, connected: (client: Socket, upstream: Socket) => void) {
  const { server, sockets } = makeProxyServer(targetUrl, connected);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: proxyUrl(targetUrl, server),
    async close(): Promise<void> {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
