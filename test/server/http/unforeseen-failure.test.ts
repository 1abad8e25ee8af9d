import { beforeAll, describe, expect, test } from "@jest/globals";
import { callApi, listConversations, messagesOf, postJson } from "../../support/clients/api-client.ts";
import { useTestPostgres } from "../../support/databases/databases.ts";
import { useOpened } from "../../support/use-opened.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openServiceWithModel } from "../../support/services/service-with-model.ts";

const INTERNAL = { status: 500, code: "internal_error", says: /^Something failed inside the service\. The log has the details/ };

describe("a failure that nobody foresaw", () => {
  const postgres = useTestPostgres();
  const running = useOpened(() => openServiceWithModel({ DATABASE_URL: postgres.url, TURN_LEASE_MS: "1000" }));
  beforeAll(() => running.model.answer({ tokens: ["one ", "two "], betweenMs: 300 }));

  const ask = (sessionId: string, fields: object = {}): object => ({ user_id: "ada", session_id: sessionId, message: "hello", ...fields });
  const hideMessages = () => postgres.query({ text: "alter table messages rename to hidden" });
  const showMessages = () => postgres.query({ text: "alter table hidden rename to messages" });

  test("is a 500 without a word of its cause, and the service goes on", async () => {
    await postTurn(running.url, ask("before"));
    const [conversation] = await listConversations(running.url, "ada");
    await hideMessages();
    for (const refused of [
      await postJson(`${running.url}/api/v1/chat/stream`, ask("failed")),
      await postJson(`${running.url}/api/v1/chat`, ask("failed")),
      await callApi(`${running.url}/api/v1/conversations/${conversation?.id}/messages`),
    ]) {
      expectRefusal(refused, INTERNAL);
      expect(refused.text).not.toMatch(/relation|messages|hidden/);
    }
    await showMessages();
    expect(contentOf((await postTurn(running.url, ask("failed"))).events, "done").completed).toBe(true);
    expect(await messagesOf(running.url, "ada", "failed")).toHaveLength(2);
  });

  test("in mid-turn ends the stream with one error of that kind, and the conversation goes on after its lease", async () => {
    let hidden: Promise<unknown> | undefined;
    const onEvent = ({ data }: { data: { status: string } }) => void (data.status === "token" && (hidden ??= hideMessages()));
    const { events } = await postTurn(running.url, ask("mid-turn"), { onEvent });
    await hidden;
    await showMessages();
    expect(events.filter(({ data }) => data.status === "done" || data.status === "error")).toHaveLength(1);
    const message = expect.stringMatching(INTERNAL.says) as unknown;
    expect(contentOf(events, "error")).toEqual({ code: "internal_error", message, retryable: false });
    const next = await postTurn(running.url, ask("mid-turn", { message: "and now?", on_busy: "enqueue" }));
    expect(contentOf(next.events, "done").completed).toBe(true);
    expect((await messagesOf(running.url, "ada", "mid-turn")).map(({ content }) => content)).toEqual(["hello", "and now?", "one two "]);
  });
});
