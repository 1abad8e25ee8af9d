import { describe, expect, test } from "@jest/globals";
import { callApi, postJson } from "../../../support/clients/api-client.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { useOpened } from "../../../support/use-opened.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { bearer, JWT_SECRET, secretToken } from "../../../servers/token-issuer.ts";
import { openServiceWithSummaries } from "../../../support/services/service-with-summaries.ts";
import { waitUntil } from "../../../support/wait-until.ts";

const ACME = bearer("key-of-acme");
const GLOBEX = bearer("key-of-globex");
const OPERATOR = bearer("key-of-operator");
const tokenOf = (sub: string) => bearer(secretToken({ sub, tenant: "acme" }));

interface ShownJobs {
  jobs: { kind: string; state: string; count: number }[];
  dead: Record<string, unknown>[];
}

describe("jobs over HTTP", () => {
  const database = useTestPostgres();
  const API_KEYS = "key-of-acme:acme,key-of-globex:globex,key-of-operator:ops:admin";
  const running = useOpened(() =>
    openServiceWithSummaries({ DATABASE_URL: database.url, API_KEYS, JWT_SECRET, JWT_TENANT_CLAIM: "tenant" }),
  );

  const get = async <Body>(path: string, headers = ACME) => (await callApi<Body>(`${running.url}/api/v1${path}`, { headers })).json;
  const jobsOf = (headers = ACME) => get<ShownJobs>("/jobs", headers);
  const ofConversation = async (id: string) => (await get<{ jobs: object[] }>(`/conversations/${id}/jobs`)).jobs;
  const summaries = async (headers = ACME) => (await jobsOf(headers)).jobs.filter(({ kind }) => kind === "summarise");
  const retry = (body: unknown, headers = ACME) => postJson(`${running.url}/api/v1/jobs/retry`, body, headers);

  /** Makes the summary job of a new conversation fail for good; its conversation. */
  async function makeDead(userId: string, headers = ACME): Promise<string> {
    running.summarise({ status: 401 });
    await running.say(userId, "one", headers);
    const { conversation_id: id } = await running.say(userId, "two", headers);
    await waitUntil("it is dead", async () => {
      await database.query({ text: "update pgboss.job set retry_limit = 0 where name = 'memory' and state < 'completed'" });
      return (await jobsOf(headers)).dead.some(({ conversation_id }) => conversation_id === id);
    });
    return id;
  }
  async function expectSummary(id: string, headers = ACME): Promise<void> {
    expect(await running.settle(id, 30_000, headers)).toEqual({ settled: true, pending: 0 });
    expect(await running.summaryOf(id, headers)).toMatchObject({ text: "at last" });
  }

  test("are counted by kind and state, and those that failed for good are shown to their tenant alone", async () => {
    expect(await summaries()).toEqual([]);
    const id = await makeDead("ada");
    expect(await summaries()).toEqual([{ kind: "summarise", state: "dead", count: 1 }]);
    const facts = {
      id: expect.any(String),
      kind: "summarise",
      error: { code: "model_unauthorized", message: expect.any(String) },
      attempts: expect.any(Number),
      created_at: expect.stringMatching(/Z$/),
    };
    const { dead } = await jobsOf();
    expect(dead).toEqual([{ ...facts, user_id: "ada", conversation_id: id, died_at: expect.stringMatching(/Z$/) }]);
    expect(await ofConversation(id)).toEqual([{ ...facts, state: "dead" }]);
    expect(JSON.stringify(dead)).not.toContain("secret words");
    expect((await jobsOf(GLOBEX)).dead).toEqual([]);
    expect(await summaries(GLOBEX)).toEqual([]);
    expect((await callApi(`${running.url}/readyz`)).status).toBe(200);
  });

  test("are run again by their tenant, of one kind or of every kind, and by no other tenant", async () => {
    const [own, foreign] = [await makeDead("own"), await makeDead("foreign", GLOBEX)];
    running.summarise({ tokens: ["at last"] });
    const { dead } = await jobsOf();
    expect((await retry({ kind: "summarise" })).json).toEqual({ retried: dead.length });
    await expectSummary(own);
    expect((await jobsOf()).dead).toEqual([]);
    expect((await jobsOf(GLOBEX)).dead.map(({ conversation_id }) => conversation_id)).toContain(foreign);
    expect(await running.summaryOf(foreign, GLOBEX)).toBeNull();
    expect((await retry({})).json).toEqual({ retried: 0 });

    const every = await makeDead("every");
    running.summarise({ tokens: ["at last"] });
    const bodyless = await callApi(`${running.url}/api/v1/jobs/retry`, { method: "POST", headers: ACME });
    expect(bodyless).toMatchObject({ status: 200, json: { retried: 1 } });
    await expectSummary(every);
  });

  test("are run again of one conversation, by its user too", async () => {
    const [id, other] = [await makeDead("bob"), await makeDead("eve")];
    const ofOne = { conversation_id: id };
    for (const headers of [GLOBEX, tokenOf("eve")]) expectRefusal(await retry(ofOne, headers), { status: 404, code: "not_found" });
    expectRefusal(await retry({}, tokenOf("bob")), { status: 403, code: "forbidden" });
    running.summarise({ tokens: ["at last"] });
    expect((await retry(ofOne, tokenOf("bob"))).json).toEqual({ retried: 1 });
    await expectSummary(id);
    expect(await ofConversation(id)).toEqual([]);
    expect(await running.summaryOf(other, ACME)).toBeNull();
  });

  test("of every tenant are shown to a key of scope admin, with their tenant, and run again by it", async () => {
    const ids = [await makeDead("seen"), await makeDead("seen", GLOBEX)];
    const { dead } = await jobsOf(OPERATOR);
    for (const [index, tenant] of ["acme", "globex"].entries())
      expect(dead).toContainEqual(expect.objectContaining({ tenant, user_id: "seen", conversation_id: ids[index] }));
    running.summarise({ tokens: ["at last"] });
    expect((await retry({}, OPERATOR)).json).toEqual({ retried: dead.length });
    for (const headers of [ACME, GLOBEX]) expect((await jobsOf(headers)).dead).toEqual([]);
  });

  test("of an unknown kind, a field too much, a wrong conversation and a wrong limit are refused by name", async () => {
    const refusal = { status: 400, code: "invalid_request" };
    expectRefusal(await retry({ kind: "dream" }), { ...refusal, field: "kind", says: /summarise/ });
    expectRefusal(await retry({ kind: "summarise", all: true }), { ...refusal, says: /all/ });
    expectRefusal(await retry({ conversation_id: "x" }), { ...refusal, field: "conversation_id" });
    expectRefusal(await callApi(`${running.url}/api/v1/jobs?limit=0`, { headers: ACME }), { ...refusal, field: "limit" });
  });
});
