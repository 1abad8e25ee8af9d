import { describe, expect, test } from "@jest/globals";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { useOpened } from "../../../support/use-opened.ts";
import { holdConversations } from "../../../support/databases/hold-conversations.ts";
import { connectTo, parseChunkedResponse, postBytes } from "../../../support/clients/raw-connection.ts";
import { openTestService } from "../../../support/services/service.ts";
import { waitUntil } from "../../../support/wait-until.ts";

const HEARTBEAT = ": heartbeat\n\n";

describe("the bytes of an import's stream", () => {
  const database = useTestPostgres();
  const service = useOpened(() => openTestService({ DATABASE_URL: database.url }, { heartbeatMs: 50 }));

  test("have the headers of an unbuffered event stream, and heartbeats while the import waits, beside the ids of its events", async () => {
    const held = await holdConversations(database.url);
    const connection = await connectTo(service.url);
    const body = { user_id: "ada", session_id: "s", messages: [{ role: "user", content: "hello" }] };
    connection.socket.write(postBytes("/api/v1/conversations/import", body, { accept: "text/event-stream" }));
    await waitUntil("three heartbeats", () => connection.received().split(HEARTBEAT).length > 3);
    await held.release();
    await connection.until("\r\n0\r\n\r\n");
    connection.socket.destroy();
    const { headers, chunks } = parseChunkedResponse(connection.received());
    expect(headers).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-store, no-transform",
      "x-accel-buffering": "no",
    });
    const events = chunks.join("").replaceAll(HEARTBEAT, "");
    expect([...events.matchAll(/^id: (\d+)\ndata: \{"status":"(\w+)"/gm)].map(([, id, status]) => [id, status])).toEqual([
      ["1", "progress"],
      ["2", "done"],
    ]);
    expect(events).not.toMatch(/^:/m);
  });

  test("end with the whole list of what was invalid, however long it is", async () => {
    const invalid = Array.from({ length: 3_000 }, () => ({ role: "nobody", content: "" }));
    const messages = [...invalid, { role: "user", content: "hello" }];
    const response = await fetch(`${service.url}/api/v1/conversations/import`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ user_id: "bea", session_id: "s", on_invalid: "skip", messages }),
    });
    const last = (await response.text()).replaceAll(HEARTBEAT, "").trimEnd().split("\ndata: ").at(-1) ?? "";
    const { status, content } = JSON.parse(last) as { status: string; content: { imported: number; invalid: unknown[] } };
    expect({ status, imported: content.imported }).toEqual({ status: "done", imported: 1 });
    expect(content.invalid.length).toBeGreaterThanOrEqual(invalid.length);
  });
});
