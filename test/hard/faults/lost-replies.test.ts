import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { listConversations, messagesOf } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { startTcpProxy, type TcpProxy } from "../../servers/tcp-proxy.ts";

describe.each([
  ["begins a turn", "turn-begin"],
  ["commits its end", "commit"],
])("a Postgres whose reply is lost when it %s", (_when, only) => {
  let database: Awaited<ReturnType<typeof createRealDatabase>>;
  let proxy: TcpProxy;
  let running: ServiceWithModel;
  beforeAll(async () => {
    database = await createRealDatabase();
    proxy = await startTcpProxy(database.url, { only });
    running = await openServiceWithModel({ DATABASE_URL: proxy.url });
    running.model.answer({ tokens: ["once ", "only"] });
  });
  afterAll(async () => {
    await running.close();
    await proxy.close();
    await database.drop();
  });

  test.each([
    ["the connection ends", (): void => proxy.resetAfter(1), 1_500],
    ["nothing comes any more", (): void => proxy.loseReplies(), 12_000],
  ])(
    "and %s: the turn is answered, and everything of it is stored once",
    async (sessionId, lose, ms) => {
      const message = "say this once";
      await postTurn(running.url, { user_id: "ada", session_id: sessionId, message: "warm up" });
      lose();
      const turn = postTurn(running.url, { user_id: "ada", session_id: sessionId, message });
      await Promise.race([turn, sleep(ms)]);
      await proxy.restore();
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
    },
    40_000,
  );
});
