import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "@jest/globals";
import { callApi, listConversations, messagesOf, postJson } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { contentOf, postTurn, type ReceivedEvent } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openServiceWithModel } from "../../support/services/service-with-model.ts";
import { startTcpProxy } from "../../servers/tcp-proxy.ts";
import { useOpened } from "../../support/use-opened.ts";

const UNAVAILABLE = { status: 503, code: "storage_unavailable", says: /database cannot be reached.*again in a few seconds/ };
const WORDS = Array.from({ length: 10 }, (_, index) => `word${index} `);

/** A service that reaches its Postgres through a proxy, which can take that away. */
async function openBehindProxy(environment: Record<string, string> = {}, touched: { only?: string } = {}) {
  const database = await createRealDatabase();
  const proxy = await startTcpProxy(database.url, touched);
  const running = await openServiceWithModel({ DATABASE_URL: proxy.url, ...environment });
  const close = () => running.close().then(proxy.close).then(database.drop);
  return { ...running, proxy, close };
}

describe("while Postgres is gone", () => {
  const running = useOpened(() => openBehindProxy({ TURN_LEASE_MS: "1000" }));
  afterEach(() => running.proxy.restore());

  const ask = (session_id: string, message = "hello", fields: object = {}): object => ({ user_id: "ada", session_id, message, ...fields });
  const summary = async (sessionId: string): Promise<unknown[]> =>
    (await messagesOf(running.url, "ada", sessionId)).map(({ role, content, completed }) => [role, content, completed]);

  test("a running turn keeps its answer and stores it when Postgres is back, and other turns are refused", async () => {
    running.model.answer({ tokens: WORDS, betweenMs: 30 });
    async function outage(): Promise<void> {
      await running.proxy.refuse();
      await sleep(6_000); // the model's answer takes 300 ms
      const refused = await postJson(`${running.url}/api/v1/chat`, ask("another", "too early"));
      expectRefusal(refused, UNAVAILABLE);
      expect(refused.headers.get("retry-after")).toBe("1");
      expect(JSON.stringify(refused.json)).not.toMatch(/ECONN|127\.0\.0\.1|postgres/i);
      expect((await callApi(`${running.url}/healthz`)).status).toBe(200);
      await running.proxy.restore();
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

  test("every request that needs it is answered with a plain 503 before any stream begins", async () => {
    const [conversation] = await listConversations(running.url, "ada");
    const asked = running.model.seen.length;
    await running.proxy.refuse();
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
    await running.proxy.restore();
    expect(running.model.seen).toHaveLength(asked);
    expect(await summary("refused")).toEqual([]);
  });

  test("a turn that waits in line gets the error in its stream", async () => {
    running.model.answer({ tokens: WORDS, betweenMs: 30 });
    const waiting = Promise.withResolvers<ReceivedEvent[]>();
    const first = postTurn(running.url, ask("line", "first"), {
      onEvent(_event, sofar) {
        if (sofar.length !== 3) return;
        const second = postTurn(running.url, ask("line", "second", { on_busy: "enqueue" }), {
          onEvent: (_first, own) => void (own.length === 1 && running.proxy.refuse()),
        });
        second.then(({ events }) => waiting.resolve(events), waiting.reject);
      },
    });
    expect(contentOf(await waiting.promise, "error").code).toBe("storage_unavailable");
    await running.proxy.restore();
    expect(contentOf((await first).events, "done").completed).toBe(true);
    expect((await summary("line"))[0]).toEqual(["user", "first", true]);
    expect(await summary("line")).not.toContainEqual(["user", "second", true]);
  });

  test("and comes back between two turns, the next turn is answered as if nothing had happened", async () => {
    running.model.answer({ tokens: ["fine"] });
    await postTurn(running.url, ask("between", "first"));
    await running.proxy.refuse();
    await running.proxy.restore();
    await sleep(50); // the resets arrive
    const { status, events } = await postTurn(running.url, ask("between", "second"));
    expect(status).toBe(200);
    expect(contentOf(events, "done").receipt.window_messages).toBe(2);
  });
});

describe.each([
  ["begins a turn", "turn-begin"],
  ["commits a turn's end", "commit"],
])("when Postgres %s and its reply is lost", (_when, only) => {
  const running = useOpened(() => openBehindProxy({}, { only }));

  test.each([
    ["the connection ends", (): void => running.proxy.resetAfter(1), 1_500],
    ["nothing comes any more", (): void => running.proxy.loseReplies(), 12_000],
  ])("because %s, the turn is answered and everything of it is stored once", async (sessionId, lose, ms) => {
    const message = "say this once";
    await postTurn(running.url, { user_id: "ada", session_id: sessionId, message: "warm up" });
    running.model.answer({ tokens: ["once ", "only"] });
    lose();
    const turn = postTurn(running.url, { user_id: "ada", session_id: sessionId, message });
    await Promise.race([turn, sleep(ms)]);
    await running.proxy.restore();
    const { status, events } = await turn;
    expect(status).toBe(200);
    expect(contentOf(events, "done")).toMatchObject({ answer: "once only", completed: true });
    const stored = await messagesOf(running.url, "ada", sessionId);
    expect(stored.slice(2).map(({ content, completed }) => [content, completed])).toEqual([
      [message, true],
      ["once only", true],
    ]);
    const conversation = (await listConversations(running.url, "ada")).find((listed) => listed.session_id === sessionId);
    expect(conversation?.message_count).toBe(4);
  });
});
