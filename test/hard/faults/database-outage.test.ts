import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { callApi, listConversations, messagesOf, postJson } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { contentOf, postTurn, type ReceivedEvent } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { startTcpProxy, type TcpProxy } from "../../servers/tcp-proxy.ts";

const UNAVAILABLE = { status: 503, code: "storage_unavailable", says: /database cannot be reached.*again in a few seconds/ };
const WORDS = Array.from({ length: 10 }, (_, index) => `word${index} `);

describe("while Postgres is gone", () => {
  let running: ServiceWithModel;
  let proxy: TcpProxy;
  let database: Awaited<ReturnType<typeof createRealDatabase>>;
  beforeAll(async () => {
    database = await createRealDatabase();
    proxy = await startTcpProxy(database.url);
    running = await openServiceWithModel({ DATABASE_URL: proxy.url, TURN_LEASE_MS: "1000" });
  });
  afterEach(async () => {
    await proxy.restore();
  });
  afterAll(async () => {
    await running.close();
    await proxy.close();
    await database.drop();
  });

  const ask = (session_id: string, message = "hello", fields: object = {}): object => ({ user_id: "ada", session_id, message, ...fields });
  const summary = async (sessionId: string): Promise<unknown[]> =>
    (await messagesOf(running.url, "ada", sessionId)).map(({ role, content, completed }) => [role, content, completed]);

  test("for seconds in mid-turn, other turns are refused, and the answer waits for it and is stored when it is back", async () => {
    running.model.answer({ tokens: WORDS, betweenMs: 30 });
    async function outage(): Promise<void> {
      await proxy.refuse();
      await sleep(6_000); // the model's answer takes 300 ms
      const refused = await postJson(`${running.url}/api/v1/chat`, ask("another", "too early"));
      expectRefusal(refused, UNAVAILABLE);
      expect(refused.headers.get("retry-after")).toBe("1");
      expect(JSON.stringify(refused.json)).not.toMatch(/ECONN|127\.0\.0\.1|postgres/i);
      expect((await callApi(`${running.url}/healthz`)).status).toBe(200);
      await proxy.restore();
    }
    let over: Promise<void> | undefined;
    const onEvent = (_event: unknown, sofar: unknown[]) => void (sofar.length === 4 && (over = outage()));
    const { events } = await postTurn(running.url, ask("longer"), { onEvent });
    await over;
    expect(contentOf(events, "done")).toMatchObject({ answer: WORDS.join(""), completed: true });

    running.model.answer({ tokens: ["fine"] });
    const next = await postTurn(running.url, ask("longer", "and now?"));
    expect(contentOf(next.events, "done")).toMatchObject({ answer: "fine", receipt: { window_messages: 2 } });
    expect(await summary("longer")).toEqual([
      ["user", "hello", true],
      ["assistant", WORDS.join(""), true],
      ["user", "and now?", true],
      ["assistant", "fine", true],
    ]);
    expect(await summary("another")).toEqual([]);
  });

  test("everything that needs it is a plain 503, before any stream begins", async () => {
    const [conversation] = await listConversations(running.url, "ada");
    const asked = running.model.seen.length;
    await proxy.refuse();
    const conversations = `${running.url}/api/v1/conversations`;
    for (const refused of [
      await postJson(`${running.url}/api/v1/chat/stream`, ask("refused")),
      await postJson(`${running.url}/api/v1/chat`, ask("refused")),
      await callApi(`${conversations}?user_id=ada`),
      await callApi(`${conversations}/${conversation?.id}/messages`),
      await callApi(`${conversations}/${conversation?.id}`, { method: "DELETE" }),
    ]) {
      expectRefusal(refused, UNAVAILABLE);
    }
    await proxy.restore();
    expect(running.model.seen).toHaveLength(asked);
    expect(await summary("refused")).toEqual([]);
  });

  test("who waits in line learns of it in the stream", async () => {
    running.model.answer({ tokens: WORDS, betweenMs: 30 });
    const waiting = Promise.withResolvers<ReceivedEvent[]>();
    const first = postTurn(running.url, ask("line", "first"), {
      onEvent(_event, sofar) {
        if (sofar.length !== 3) return;
        const second = postTurn(running.url, ask("line", "second", { on_busy: "enqueue" }), {
          onEvent: (_first, own) => void (own.length === 1 && proxy.refuse()),
        });
        second.then(({ events }) => waiting.resolve(events), waiting.reject);
      },
    });
    expect(contentOf(await waiting.promise, "error").code).toBe("storage_unavailable");
    await proxy.restore();
    expect(contentOf((await first).events, "done").completed).toBe(true);
    expect((await summary("line"))[0]).toEqual(["user", "first", true]);
    expect(await summary("line")).not.toContainEqual(["user", "second", true]);
  });

  test("between two turns, nobody notices", async () => {
    running.model.answer({ tokens: ["fine"] });
    await postTurn(running.url, ask("between", "first"));
    await proxy.refuse();
    await proxy.restore();
    await sleep(50); // the resets arrive
    const { status, events } = await postTurn(running.url, ask("between", "second"));
    expect(status).toBe(200);
    expect(contentOf(events, "done").receipt.window_messages).toBe(2);
  });
});
