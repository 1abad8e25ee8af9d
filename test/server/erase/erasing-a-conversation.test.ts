import { beforeEach, describe, expect, test } from "@jest/globals";
import type { TurnResult } from "../../../turn/events.ts";
import { callApi, listConversations, listMessages, messagesOf, postJson } from "../../support/clients/api-client.ts";
import { useTestPostgres } from "../../support/databases/databases.ts";
import { useOpened } from "../../support/use-opened.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openServiceWithSummaries } from "../../support/services/service-with-summaries.ts";
import { waitUntil } from "../../support/wait-until.ts";

const NOTHING_ELSE = { summaries: 0, episodes: 0, core_memory_sections: 0, memory_operations: 0, jobs: 0 };

describe("erasing a conversation over HTTP", () => {
  const database = useTestPostgres();
  const running = useOpened(() => openServiceWithSummaries({ DATABASE_URL: database.url, TURN_LEASE_MS: "1000" }));
  beforeEach(() => running.summarise({ tokens: ["They spoke."] }));

  const ask = (userId: string, message = "hello", session_id = "s"): object => ({ user_id: userId, session_id, message });
  const erase = (id: string) => callApi<object>(`${running.url}/api/v1/conversations/${id}`, { method: "DELETE" });
  const eraseOnly = async (userId: string) => erase((await listConversations(running.url, userId))[0]?.id ?? "");

  /** Rows of each kind that name the conversation. */
  async function leftOf(id: string): Promise<object | undefined> {
    const [left] = await database.query<object>({
      text: `select (select count(*) from conversations where id = $1)::int as conversations,
                    (select count(*) from messages where conversation_id = $1)::int as messages,
                    (select count(*) from conversation_summaries where conversation_id = $1)::int as summaries,
                    (select count(*) from pgboss.job where singleton_key like '%' || $1::text or data::text like '%' || $1::text || '%')::int as jobs`,
      values: [id],
    });
    return left;
  }
  const NOTHING = { conversations: 0, messages: 0, summaries: 0, jobs: 0 };

  test("answers how much went, by its id in capitals too; the others stay, and the same session begins anew", async () => {
    await running.say("ada", "one");
    const { conversation_id: id } = await running.say("ada", "two");
    await running.settle(id);
    const other = await postJson<TurnResult>(`${running.url}/api/v1/chat`, ask("ada", "hello", "other"));
    const { status, json } = await erase(id.toUpperCase());
    expect({ status, json }).toEqual({ status: 200, json: { erased: { messages: 4, ...NOTHING_ELSE, summaries: 1 } } });
    expect((await listConversations(running.url, "ada")).map((left) => left.id)).toEqual([other.json.conversation_id]);
    expect(await listMessages(running.url, other.json.conversation_id)).toHaveLength(2);
    const gone = { status: 404, code: "not_found", says: /There is no conversation/ };
    expectRefusal(await callApi(`${running.url}/api/v1/conversations/${id}/messages`), gone);
    expectRefusal(await callApi(`${running.url}/api/v1/conversations/${id}`, { method: "DELETE" }), gone);
    expect(await leftOf(id)).toEqual(NOTHING);
    const after = await running.say("ada", "three");
    expect(after.conversation_id).not.toBe(id);
    expect(after.receipt).toMatchObject({ summary: null, window_messages: 0 });
  });

  test("stops the turn that runs there, which brings nothing back, and lets a new one of the same session run at once", async () => {
    running.model.answer(({ messages }) =>
      messages.at(-1)?.content === "old" ? { tokens: Array.from({ length: 400 }, () => "old "), betweenMs: 25 } : { tokens: ["new"] },
    );
    const before = running.model.seen.length;
    let deleted: ReturnType<typeof erase> | undefined;
    let next: Promise<TurnResult> | undefined;
    const { events } = await postTurn(running.url, ask("replaced", "old"), {
      onEvent(_event, sofar) {
        if (sofar.length !== 4) return;
        deleted = eraseOnly("replaced");
        next = deleted.then(() => running.say("replaced", "hello"));
      },
    });
    expect(await deleted).toMatchObject({ status: 200, json: { erased: { messages: 1, ...NOTHING_ELSE } } });
    expect(contentOf(events, "error").code).toBe("turn_superseded");
    expect(events.length).toBeLessThan(200);
    await waitUntil("the model's connection closed", () => running.model.seen[before]?.aborted);
    expect((await next)?.completed).toBe(true);
    expect((await messagesOf(running.url, "replaced", "s")).map(({ content }) => content)).toEqual(["hello", "new"]);
  });
});
