import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { callApi } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { openServiceWithSummaries, type ServiceWithSummaries } from "../../support/services/service-with-summaries.ts";
import { waitUntil } from "../../support/wait-until.ts";

describe("deleting a conversation with what memory made of it", () => {
  let real: Awaited<ReturnType<typeof createRealDatabase>>;
  let database: Database;
  let running: ServiceWithSummaries;
  beforeAll(async () => {
    real = await createRealDatabase();
    database = await openPostgres(real.url);
    running = await openServiceWithSummaries({ DATABASE_URL: real.url });
  });
  afterAll(async () => {
    await running.close();
    await database.close();
    await real.drop();
  });
  beforeEach(() => {
    running.summarise({ tokens: ["They spoke."] });
    running.model.seen.splice(0);
  });

  async function erase(id: string): Promise<object> {
    const { status, json } = await callApi<{ erased: object }>(`${running.url}/api/v1/conversations/${id}`, { method: "DELETE" });
    expect(status).toBe(200);
    return json.erased;
  }

  /** Two turns, after which a summary is due; the conversation's id. */
  async function talk(userId: string): Promise<string> {
    await running.say(userId, "one");
    return (await running.say(userId, "two")).conversation_id;
  }

  /** Rows of summaries and of summary jobs that hold the id. */
  async function leftOf(id: string): Promise<{ summaries: number; jobs: number } | undefined> {
    const [left] = await database.query<{ summaries: number; jobs: number }>({
      text: `select (select count(*) from conversation_summaries where conversation_id = $1)::int as summaries,
                    (select count(*) from pgboss.job where singleton_key like '%' || $1::text or data::text like '%' || $1::text || '%')::int as jobs`,
      values: [id],
    });
    return left;
  }

  test("takes the summary, and counts it", async () => {
    const id = await talk("ada");
    await running.settle(id);
    expect(await erase(id)).toMatchObject({ messages: 4, summaries: 1, jobs: 0 });
    expect(await leftOf(id)).toEqual({ summaries: 0, jobs: 0 });
    expect((await running.say("ada", "three")).receipt).toMatchObject({ summary: null, window_messages: 0 });
  });

  test.each(["the first", "a later"])("while %s summary is being written keeps it from coming back", async (which) => {
    const user = `running ${which}`;
    let id = "";
    if (which === "a later") await running.settle((id = await talk(user)));
    const requests = running.summaryRequests().length;
    running.summarise({ tokens: ["of what was erased"], firstTokenMs: 1_500 });
    if (which === "a later") await running.say(user, "three");
    else id = await talk(user);
    await waitUntil("the summary is being written", () => running.summaryRequests().length > requests);
    expect(await erase(id)).toMatchObject({ summaries: which === "a later" ? 1 : 0, jobs: 1 });
    expect(await leftOf(id)).toEqual({ summaries: 0, jobs: 0 });

    // A second conversation's summary, asked for later, is there: the first one's has been answered long before.
    const later = await talk(`${user}, later`);
    expect(await running.settle(later)).toEqual({ settled: true, pending: 0 });
    expect(await running.summaryOf(later)).toMatchObject({ text: "of what was erased" });
    expect(await leftOf(id)).toEqual({ summaries: 0, jobs: 0 });
    expect(running.summaryRequests()).toHaveLength(requests + 2);
  });

  test("takes a job that is to be tried again, and one that failed for good", async () => {
    running.summarise({ status: 401 });
    const [retrying, dead] = [await talk("retrying"), await talk("dead")];
    const stateOf = async (id: string): Promise<string[]> => {
      const rows = await database.query<{ name: string; state: string }>({
        text: "select name, state from pgboss.job where data->>'conversationId' = $1",
        values: [id],
      });
      return rows.map(({ name, state }) => `${name} ${state}`);
    };
    await waitUntil("a failed try", async () => (await stateOf(retrying)).includes("memory retry"));
    expect(await erase(retrying)).toMatchObject({ messages: 4, summaries: 0, jobs: 1 });
    await waitUntil("it is dead", async () => {
      const text = "update pgboss.job set retry_limit = 0 where name = 'memory' and state < 'completed' and data->>'conversationId' = $1";
      await database.query({ text, values: [dead] });
      return (await stateOf(dead)).includes("memory_dead created");
    });
    expect(await erase(dead)).toMatchObject({ messages: 4, summaries: 0, jobs: 1 });
    for (const id of [retrying, dead]) expect(await leftOf(id)).toEqual({ summaries: 0, jobs: 0 });
  });

  test("leaves the summary of another conversation", async () => {
    const [gone, kept] = [await talk("two users"), await talk("another user")];
    await running.settle(gone);
    await running.settle(kept);
    await erase(gone);
    expect(await running.summaryOf(kept)).toMatchObject({ version: 1 });
  });
});
