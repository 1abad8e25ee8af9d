import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { json } from "node:stream/consumers";
import { freePort } from "./free-port.ts";

/** A server on this machine, on a free port unless one is given. */
export async function startHttpServer(listener: RequestListener, givenPort?: number) {
  const port = givenPort ?? (await freePort());
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${port}`,
    breakConnections: () => server.closeAllConnections(),
    close: async (): Promise<void> => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

export const readJson = async <Body>(request: IncomingMessage): Promise<Body> => (await json(request)) as Body;
