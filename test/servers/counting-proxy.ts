import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** A statement that was executed. `begin` and `commit` have their names, other statements without a name have none. */
export interface ExecutedStatement {
  name: string;
  rows: number;
  /** Bytes of its values. */
  sent: number;
  /** Bytes of its rows. */
  received: number;
}

/** Calls `onMessage` with type and body of each whole message. https://www.postgresql.org/docs/current/protocol-message-formats.html */
function makeReader(hasStartup: boolean, onMessage: (type: string, body: Buffer) => void): (bytes: Buffer) => void {
  let rest = Buffer.alloc(0);
  let isStartup = hasStartup; // the first message of a client has no type
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    for (;;) {
      const head = isStartup ? 0 : 1;
      if (rest.length < head + 4) return;
      const length = head + rest.readInt32BE(head);
      if (rest.length < length) return;
      if (!isStartup) onMessage(String.fromCharCode(rest[0] ?? 0), rest.subarray(5, length));
      isStartup = false;
      rest = rest.subarray(length);
    }
  };
}

/** Stands between one process and Postgres, and counts what they say. */
export async function startCountingProxy(targetUrl: string) {
  const target = new URL(targetUrl);
  const sockets = new Set<Socket>();
  let executed: ExecutedStatement[] = [];
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    keep(client);
    const upstream = keep(connect(Number(target.port), target.hostname));
    const running: ExecutedStatement[] = [];
    let bound = { name: "", sent: 0 };
    const readClient = makeReader(true, (type, body) => {
      const [first = "", second = ""] = body.toString("utf8").split("\0", 2);
      const run = (name: string, sent: number): void => void running.push({ name, sent, rows: 0, received: 0 });
      if (type === "B") bound = { name: second, sent: body.length };
      if (type === "E") run(bound.name, bound.sent);
      if (type === "Q") run(/^(?:begin|commit)$/i.test(first.trim()) ? first.trim().toLowerCase() : "", body.length);
    });
    const readServer = makeReader(false, (type, body) => {
      const [statement] = running;
      if (!statement) return;
      if (type === "D") Object.assign(statement, { rows: statement.rows + 1, received: statement.received + body.length });
      if (type !== "C" && type !== "I" && type !== "E") return;
      executed.push(statement);
      running.shift();
    });
    client.on("data", (bytes: Buffer) => {
      readClient(bytes);
      upstream.write(bytes);
    });
    upstream.on("data", (bytes: Buffer) => {
      readServer(bytes);
      client.write(bytes);
    });
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(targetUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    /** What was executed since the last call. */
    take(): ExecutedStatement[] {
      const taken = executed;
      executed = [];
      return taken;
    },
    async close(): Promise<void> {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
