import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { TurnResult } from "../../../turn/events.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { callApi, listConversations, listMessages, messagesOf, postJson } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { contentOf, postTurn, tokenText } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openServiceWithModel, type ServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";

const NOTHING_ELSE = { summaries: 0, episodes: 0, core_memory_sections: 0, memory_operations: 0, jobs: 0 };

describe("deleting a conversation", () => {
  let running: ServiceWithModel;
  let database: Awaited<ReturnType<typeof createRealDatabase>>;
  beforeAll(async () => {
    database = await createRealDatabase();
    running = await openServiceWithModel({ DATABASE_URL: database.url, TURN_LEASE_MS: "1000" });
  });
  afterAll(async () => {
    await running.close();
    await database.drop();
  });

  const ask = (userId: string, message = "hello"): object => ({ user_id: userId, session_id: "s", message });
  const say = async (userId: string): Promise<TurnResult> => (await postJson<TurnResult>(`${running.url}/api/v1/chat`, ask(userId))).json;
  const erase = (id: string) => callApi<object>(`${running.url}/api/v1/conversations/${id}`, { method: "DELETE" });

  async function storedRows(conversationId: string): Promise<number | undefined> {
    const postgres = await openPostgres(database.url);
    const [count] = await postgres.query<{ stored: number }>({
      text: `select (select count(*) from conversations where id = $1)::int
                  + (select count(*) from messages where conversation_id = $1)::int as stored`,
      values: [conversationId],
    });
    await postgres.close();
    return count?.stored;
  }

  test("answers how much went, and then there is nothing left", async () => {
    running.model.answer({ tokens: ["answer"] });
    await say("counted");
    const { conversation_id: id } = await say("counted");
    const { status, json } = await erase(id);
    expect({ status, json }).toEqual({ status: 200, json: { erased: { messages: 4, ...NOTHING_ELSE } } });

    expect(await listConversations(running.url, "counted")).toEqual([]);
    const gone = { status: 404, code: "not_found", says: /There is no conversation/ };
    expectRefusal(await callApi(`${running.url}/api/v1/conversations/${id}/messages`), gone);
    expectRefusal(await callApi(`${running.url}/api/v1/conversations/${id}`, { method: "DELETE" }), gone);
    expect(await storedRows(id)).toBe(0);
  });

  test("leaves the user's other conversations alone, and takes the id in capitals", async () => {
    running.model.answer({ tokens: ["answer"] });
    const { conversation_id: id } = await say("careful");
    const other = await postJson<TurnResult>(`${running.url}/api/v1/chat`, { ...ask("careful"), session_id: "other" });
    expect((await erase(id.toUpperCase())).status).toBe(200);
    expect((await listConversations(running.url, "careful")).map((left) => left.id)).toEqual([other.json.conversation_id]);
    expect(await listMessages(running.url, other.json.conversation_id)).toHaveLength(2);
  });

  test("makes the same session begin anew, without what was said before", async () => {
    running.model.answer({ tokens: ["answer"] });
    const before = await say("anew");
    await erase(before.conversation_id);
    const after = await say("anew");
    expect(after.conversation_id).not.toBe(before.conversation_id);
    expect(after.receipt.window_messages).toBe(0);
    expect(await messagesOf(running.url, "anew", "s")).toHaveLength(2);
  });

  test("stops the turn that is running there, which brings nothing back", async () => {
    running.model.answer({ tokens: Array.from({ length: 400 }, (_, index) => `word${index} `), betweenMs: 25 });
    let deleted: Promise<{ status: number; json: object }> | undefined;
    let id = "";
    const { events } = await postTurn(running.url, ask("running"), {
      onEvent(_event, sofar) {
        if (sofar.length !== 4) return;
        deleted = listConversations(running.url, "running").then(([conversation]) => erase((id = conversation?.id ?? "")));
      },
    });
    expect(await deleted).toMatchObject({ status: 200, json: { erased: { messages: 1, ...NOTHING_ELSE } } });
    expect(contentOf(events, "error").code).toBe("turn_superseded");
    expect(events.length).toBeLessThan(200);
    await waitUntil("the model's connection closed", () => running.model.seen.at(-1)?.aborted);
    expect(await storedRows(id)).toBe(0);
    expect(await listConversations(running.url, "running")).toEqual([]);
  });

  test("before the turn looks after its lease again keeps its answer out all the same, and the turn says so", async () => {
    // With the usual lease it looks every five seconds: this turn learns of it when it stores its answer.
    const patient = await openServiceWithModel({ DATABASE_URL: database.url });
    patient.model.answer({ tokens: ["one ", "two "], betweenMs: 1_000 });
    let deleted: Promise<unknown> | undefined;
    let id = "";
    const { events } = await postTurn(patient.url, ask("last moment"), {
      onEvent({ data }) {
        if (data.status !== "token") return;
        deleted ??= listConversations(running.url, "last moment").then(([conversation]) => erase((id = conversation?.id ?? "")));
      },
    });
    await deleted;
    expect(tokenText(events)).toBe("one two ");
    expect(contentOf(events, "error")).toMatchObject({
      code: "turn_superseded",
      message: expect.stringMatching(/was deleted.*Nothing of the answer/),
    });
    expect(await storedRows(id)).toBe(0);
    await patient.close();
  });

  test("lets a new turn of the same session run at once, and the old one adds nothing to it", async () => {
    running.model.answer(({ messages }) =>
      messages.at(-1)?.content === "old" ? { tokens: Array.from({ length: 100 }, () => "old "), betweenMs: 20 } : { tokens: ["new"] },
    );
    let next: Promise<TurnResult> | undefined;
    const { events } = await postTurn(running.url, ask("replaced", "old"), {
      onEvent({ data }) {
        if (data.status !== "token") return;
        next ??= listConversations(running.url, "replaced")
          .then(([conversation]) => erase(conversation?.id ?? ""))
          .then(() => say("replaced"));
      },
    });
    expect(contentOf(events, "error").code).toBe("turn_superseded");
    expect((await next)?.completed).toBe(true);
    expect((await messagesOf(running.url, "replaced", "s")).map(({ content }) => content)).toEqual(["hello", "new"]);
  });
});
