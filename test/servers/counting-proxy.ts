import { startProxy } from "./proxy-connections.ts";

/** A statement that was executed. One that was not prepared, `begin` and `commit` too, has the name "". */
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
  let executed: ExecutedStatement[] = [];
  const proxy = await startProxy(targetUrl, (client, upstream) => {
    const running: ExecutedStatement[] = [];
    let bound = { name: "", sent: 0 };
    const readClient = makeReader(true, (type, body) => {
      if (type === "B") bound = { name: body.toString("utf8").split("\0", 2)[1] ?? "", sent: body.length };
      if (type === "E") running.push({ ...bound, rows: 0, received: 0 });
      if (type === "Q") running.push({ name: "", sent: body.length, rows: 0, received: 0 });
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
    upstream.on("close", () => client.destroy());
  });
  return {
    ...proxy,
    /** What was executed since the last call. */
    take(): ExecutedStatement[] {
      const taken = executed;
      executed = [];
      return taken;
    },
  };
}
