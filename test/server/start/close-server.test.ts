import { expect, test } from "@jest/globals";
import { createServer } from "node:http";
import { closeServer, listen, portOf } from "../../../server/http/listen.ts";
import { connectTo } from "../../support/clients/raw-connection.ts";

const LONG_GRACE_MS = 120_000;
const READ = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

test("a server that closes lets the answer that is being sent end, and does not wait for the next request on its connection", async () => {
  const { promise: closing, resolve: close } = Promise.withResolvers<void>();
  const server = await listen(
    (_request, response) => {
      response.write("first ");
      void closing.then(() => setTimeout(() => response.end("last"), 100));
    },
    0,
    "127.0.0.1",
  );
  const connection = await connectTo(`http://127.0.0.1:${portOf(server)}`);
  connection.socket.write(READ);
  await connection.until("first ");
  const closed = closeServer(server, LONG_GRACE_MS);
  close();
  await Promise.all([closed, connection.closed]);
  expect(connection.received()).toContain("last");
});

test("a server that closes cuts what has not ended when its grace is over", async () => {
  const server = createServer((_request, response) => void response.write("first "));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const connection = await connectTo(`http://127.0.0.1:${portOf(server)}`);
  connection.socket.write(READ);
  await connection.until("first ");
  await Promise.all([closeServer(server, 50), connection.closed]);
});
