import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { TurnResult } from "../../../turn/events.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { callApi, listConversations, listMessages, messagesOf, postJson } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { contentOf, postTurn, tokenText } from "../../support/clients/event-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openServiceWithModel } from "../../support/services/service-with-model.ts";
import { openServiceWithSummaries, type ServiceWithSummaries } from "../../support/services/service-with-summaries.ts";
import { waitUntil } from "../../support/wait-until.ts";

const NOTHING_ELSE = { summaries: 0, episodes: 0, core_memory_sections: 0, memory_operations: 0, jobs: 0 };

describe("erasing a conversation over HTTP", () => {
  let real: Awaited<ReturnType<typeof createRealDatabase>>;
  let database: Database;
  let running: ServiceWithSummaries;
  beforeAll(async () => {
    real = await createRealDatabase();
    database = await openPostgres(real.url);
    running = await openServiceWithSummaries({ DATABASE_URL: real.url, TURN_LEASE_MS: "1000" });
  });
  afterAll(async () => {
    await running.close();
    await database.close();
    await real.drop();
  });
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

  test("while its summary is being written keeps that from coming back", async () => {
    const requests = running.summaryRequests().length;
    running.summarise({ tokens: ["of what was erased"], firstTokenMs: 1_500 });
    await running.say("running", "one");
    const { conversation_id: id } = await running.say("running", "two");
    await waitUntil("the summary is being written", () => running.summaryRequests().length > requests);
    expect((await erase(id)).json).toEqual({ erased: { messages: 4, ...NOTHING_ELSE, jobs: 1 } });
    // A second conversation's summary, asked for later, is there: the first one's has been answered long before.
    await running.say("later", "one");
    const { conversation_id: later } = await running.say("later", "two");
    expect(await running.settle(later)).toEqual({ settled: true, pending: 0 });
    expect(await running.summaryOf(later)).toMatchObject({ text: "of what was erased" });
    expect(await leftOf(id)).toEqual(NOTHING);
    expect(running.summaryRequests()).toHaveLength(requests + 2);
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

  test("before the turn looks after its lease again keeps its answer out all the same, and the turn says so", async () => {
    // With the usual lease it looks every five seconds: this turn learns of it when it stores its answer.
    const patient = await openServiceWithModel({ DATABASE_URL: real.url });
    patient.model.answer({ tokens: ["one ", "two "], betweenMs: 1_000 });
    let deleted: Promise<unknown> | undefined;
    const { events } = await postTurn(patient.url, ask("last moment"), {
      onEvent({ data }) {
        if (data.status === "token") deleted ??= eraseOnly("last moment");
      },
    });
    expect(await deleted).toMatchObject({ status: 200 });
    expect(tokenText(events)).toBe("one two ");
    const message = expect.stringMatching(/was deleted.*Nothing of the answer/);
    expect(contentOf(events, "error")).toMatchObject({ code: "turn_superseded", message });
    expect(await listConversations(running.url, "last moment")).toEqual([]);
    await patient.close();
  });
});
