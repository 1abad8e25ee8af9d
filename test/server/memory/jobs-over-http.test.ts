import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { callApi, postJson } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openServiceWithSummaries, type ServiceWithSummaries } from "../../support/services/service-with-summaries.ts";
import { waitUntil } from "../../support/wait-until.ts";

const ACME = { authorization: "Bearer key-of-acme" };
const GLOBEX = { authorization: "Bearer key-of-globex" };
const OPERATOR = { authorization: "Bearer key-of-operator" };

interface ShownJobs {
  jobs: { kind: string; state: string; count: number }[];
  dead: Record<string, unknown>[];
}

describe("jobs over HTTP", () => {
  let real: Awaited<ReturnType<typeof createRealDatabase>>;
  let database: Database;
  let running: ServiceWithSummaries;
  beforeAll(async () => {
    real = await createRealDatabase();
    database = await openPostgres(real.url);
    running = await openServiceWithSummaries({
      DATABASE_URL: real.url,
      API_KEYS: "key-of-acme:acme,key-of-globex:globex,key-of-operator:ops:admin",
    });
  });
  afterAll(async () => {
    await running.close();
    await database.close();
    await real.drop();
  });

  const jobsOf = async (headers: Record<string, string>, query = ""): Promise<ShownJobs> =>
    (await callApi<ShownJobs>(`${running.url}/api/v1/jobs${query}`, { headers })).json;
  const summariesOf = async (headers: Record<string, string>): Promise<ShownJobs["jobs"]> =>
    (await jobsOf(headers)).jobs.filter(({ kind }) => kind === "summarise");
  const retry = (body: unknown, headers: Record<string, string> = ACME) => postJson(`${running.url}/api/v1/jobs/retry`, body, headers);

  /** Makes the summary job of a new conversation fail for good; its conversation. */
  async function makeDead(userId: string, headers: Record<string, string>): Promise<string> {
    running.summarise({ status: 401 });
    await running.say(userId, "one", headers);
    const { conversation_id: id } = await running.say(userId, "two", headers);
    await waitUntil("it is dead", async () => {
      await database.query({ text: "update pgboss.job set retry_limit = 0 where name = 'memory' and state < 'completed'" });
      return (await jobsOf(headers)).dead.some(({ conversation_id }) => conversation_id === id);
    });
    return id;
  }

  test("are counted by kind and state, and those that failed for good are shown to their tenant alone", async () => {
    expect(await summariesOf(ACME)).toEqual([]);
    expect((await jobsOf(ACME)).dead).toEqual([]);
    const id = await makeDead("ada", ACME);
    const { dead } = await jobsOf(ACME);
    expect(await summariesOf(ACME)).toEqual([{ kind: "summarise", state: "dead", count: 1 }]);
    expect(dead).toEqual([
      {
        id: expect.any(String),
        kind: "summarise",
        user_id: "ada",
        conversation_id: id,
        error: { code: "model_refused", message: expect.any(String) },
        attempts: expect.any(Number),
        created_at: expect.stringMatching(/Z$/),
        died_at: expect.stringMatching(/Z$/),
      },
    ]);
    expect(JSON.stringify(dead)).not.toContain("secret words");
    expect((await jobsOf(GLOBEX)).dead).toEqual([]);
    expect(await summariesOf(GLOBEX)).toEqual([]);
  });

  test("that are dead leave the service ready", async () => {
    await makeDead("grace", GLOBEX);
    expect((await callApi(`${running.url}/readyz`)).status).toBe(200);
  });

  test("are run again by their tenant, and by no other", async () => {
    const [own, foreign] = [await makeDead("own", ACME), await makeDead("foreign", GLOBEX)];
    running.summarise({ tokens: ["at last"] });
    const { dead } = await jobsOf(ACME);
    expect((await retry({ kind: "summarise" })).json).toEqual({ retried: dead.length });
    expect(await running.settle(own, 30_000, ACME)).toEqual({ settled: true, pending: 0 });
    expect(await running.summaryOf(own, ACME)).toMatchObject({ text: "at last" });
    expect((await jobsOf(ACME)).dead).toEqual([]);
    expect((await jobsOf(GLOBEX)).dead.map(({ conversation_id }) => conversation_id)).toContain(foreign);
    expect(await running.summaryOf(foreign, GLOBEX)).toBeNull();
    expect((await retry({})).json).toEqual({ retried: 0 });
  });

  test("are run again of every kind when none is named, also without a body", async () => {
    const id = await makeDead("every", ACME);
    running.summarise({ tokens: ["at last"] });
    const answer = await callApi(`${running.url}/api/v1/jobs/retry`, { method: "POST", headers: ACME });
    expect(answer).toMatchObject({ status: 200, json: { retried: 1 } });
    await running.settle(id, 30_000, ACME);
    expect(await running.summaryOf(id, ACME)).toMatchObject({ text: "at last" });
  });

  test("of every tenant are shown to a key of scope admin, with their tenant, and run again by it", async () => {
    const ids = [await makeDead("seen", ACME), await makeDead("seen", GLOBEX)];
    const { dead } = await jobsOf(OPERATOR);
    for (const [index, tenant] of ["acme", "globex"].entries()) {
      expect(dead).toContainEqual(expect.objectContaining({ tenant, user_id: "seen", conversation_id: ids[index] }));
    }
    running.summarise({ tokens: ["at last"] });
    expect((await retry({}, OPERATOR)).json).toEqual({ retried: dead.length });
    expect((await jobsOf(ACME)).dead).toEqual([]);
    expect((await jobsOf(GLOBEX)).dead).toEqual([]);
  });

  test("of an unknown kind, a field too much and a wrong limit are refused by name", async () => {
    const refusal = { status: 400, code: "invalid_request" };
    expectRefusal(await retry({ kind: "dream" }), { ...refusal, field: "kind", says: /summarise/ });
    expectRefusal(await retry({ kind: "summarise", all: true }), { ...refusal, says: /all/ });
    expectRefusal(await callApi(`${running.url}/api/v1/jobs?limit=0`, { headers: ACME }), { ...refusal, field: "limit" });
  });

  test("need a key", async () => {
    const refusal = { status: 401, code: "unauthorized" };
    expectRefusal(await callApi(`${running.url}/api/v1/jobs`), refusal);
    expectRefusal(await retry({}, {}), refusal);
  });
});
