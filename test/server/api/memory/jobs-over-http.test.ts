import { describe, expect, test, afterEach, beforeEach } from "@jest/globals";
import { callApi, postJson } from "../../../support/clients/api-client.ts";
import { useTestPostgres, openTestEmbedded } from "../../../support/databases/databases.ts";
import { useOpened } from "../../../support/use-opened.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { bearer, JWT_SECRET, secretToken } from "../../../servers/token-issuer.ts";
import { openServiceWithSummaries } from "../../../support/services/service-with-summaries.ts";
import { waitUntil } from "../../../support/wait-until.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { openServiceWithCoreMemory, type ServiceWithCoreMemory } from "../../../support/services/service-with-core-memory.ts";
import { parseConfig } from "../../../../server/settings/config.ts";
import { openEpisodes } from "../../../../server/parts/open-memory.ts";
import type { Database } from "../../../../stores/postgres/database/database.ts";
import { chunkIndexName } from "../../../../stores/search/open-episode-index.ts";
import { openPostgresSearchStore } from "../../../../stores/search/postgres/open-postgres-search-store.ts";
import type { SearchStore } from "../../../../stores/search/contract/search-index.ts";

const ACME = bearer("key-of-acme");
const GLOBEX = bearer("key-of-globex");
const OPERATOR = bearer("key-of-operator");
const tokenOf = (sub: string) => bearer(secretToken({ sub, tenant: "acme" }));
interface ShownJobs {
  jobs: { kind: string; state: string; count: number }[];
  dead: Record<string, unknown>[];
}
describe("background jobs", () => {
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

  test("are counted by kind and state, and the ones that failed for good are shown to their own tenant only", async () => {
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

  test("that failed are run again by their own tenant only, one kind or all kinds at once", async () => {
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

  test("that failed in one conversation are run again by the tenant or by the user of the conversation", async () => {
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

  test("of every tenant are shown with the tenant to a key of scope admin, which can run them again", async () => {
    const ids = [await makeDead("seen"), await makeDead("seen", GLOBEX)];
    const { dead } = await jobsOf(OPERATOR);
    for (const [index, tenant] of ["acme", "globex"].entries())
      expect(dead).toContainEqual(expect.objectContaining({ tenant, user_id: "seen", conversation_id: ids[index] }));
    running.summarise({ tokens: ["at last"] });
    expect((await retry({}, OPERATOR)).json).toEqual({ retried: dead.length });
    for (const headers of [ACME, GLOBEX]) expect((await jobsOf(headers)).dead).toEqual([]);
  });

  test("cannot be retried or listed with a wrong kind, field, conversation or limit, which the refusal names", async () => {
    const refusal = { status: 400, code: "invalid_request" };
    expectRefusal(await retry({ kind: "dream" }), { ...refusal, field: "kind", says: /summarise/ });
    expectRefusal(await retry({ kind: "summarise", all: true }), { ...refusal, says: /all/ });
    expectRefusal(await retry({ conversation_id: "x" }), { ...refusal, field: "conversation_id" });
    expectRefusal(await callApi(`${running.url}/api/v1/jobs?limit=0`, { headers: ACME }), { ...refusal, field: "limit" });
  });
});

describe("background jobs of a process", () => {
  const USERS = ["ada", "ben", "cleo", "dan"];
  let service: ServiceWithCoreMemory | undefined;
  afterEach(() => service?.close());
  test("run JOB_CONCURRENCY at a time, while the others wait", async () => {
    const running = await openServiceWithCoreMemory({ JOB_CONCURRENCY: "2" });
    service = running;
    const over = Promise.withResolvers<void>();
    running.remember(() => ({ tokens: ["nothing to do"], until: over.promise }));
    for (const user of USERS) await running.say(user, "What is tea?");
    await waitUntil("two jobs are at work", () => running.memoryRequests().length === 2);
    await sleep(3_000); // longer than between two looks for jobs
    expect(running.memoryRequests()).toHaveLength(2);
    over.resolve();
    await waitUntil("the others have had their place", () => running.memoryRequests().length === USERS.length);
  });
});

const config = parseConfig({ EMBEDDING_MODEL: "built-in" });
const RECORD = `
insert into search_indexes (name, kind, state, store, embedder, dimensions, created_at, left_at)
values ($1, 'episodes', $2, $3, 'e', 8, now(), $4)`;
describe("a service", () => {
  let database: Database;
  let store: SearchStore;
  const errors: unknown[] = [];
  beforeEach(async () => {
    errors.splice(0);
    database = await openTestEmbedded();
    store = await openPostgresSearchStore(database);
  });
  afterEach(() => database.close());

  const open = () => openEpisodes(config, database, (error) => errors.push(error));

  /** An index of two tables with its record; `left`: since how many milliseconds it serves no more. */
  async function addIndex(name: string, left: number | null, kind = "postgres"): Promise<void> {
    const [state, at] = left === null ? ["building", null] : [`leaving ${name}`, new Date(Date.now() - left)];
    await database.query({ text: RECORD, values: [name, state, kind, at] });
    if (kind !== "postgres") return;
    for (const each of [name, chunkIndexName(name)]) await store.openIndex({ name: each, dimensions: 8, attributes: {} });
  }

  async function recorded(): Promise<string[]> {
    const rows = await database.query<{ name: string }>({ text: "select name from search_indexes where state <> 'current' order by name" });
    return rows.map(({ name }) => name);
  }

  test("drops in the background the indexes that rebuilds have left and nobody uses, and no others", async () => {
    await addIndex("episodes_long_ago", 3_600_000);
    await addIndex("episodes_building", null);
    await addIndex("episodes_in_milvus", 3_600_000, "milvus");
    await store.openIndex({ name: "episodes_of_nobody", dimensions: 8, attributes: {} });
    await addIndex("episodes_a_moment_ago", 0);
    const episodes = await open();
    await waitUntil("the older is dropped", async () => !(await recorded()).includes("episodes_long_ago"));
    expect(await store.listIndexes()).toContain("episodes_a_moment_ago");
    await waitUntil("the newer is dropped", async () => !(await recorded()).includes("episodes_a_moment_ago"));
    expect(await recorded()).toEqual(["episodes_building", "episodes_in_milvus"]);
    expect(await store.listIndexes()).toEqual(["chunks_building", "episodes_building", "episodes_of_nobody"]);
    await episodes.close();
    expect(errors).toEqual([]);
  });

  test("that stops again at once leaves an index that may be in use to the next start, without an error", async () => {
    await addIndex("episodes_a_moment_ago", 0);
    await (await open()).close();
    expect(await store.listIndexes()).toEqual(["chunks_a_moment_ago", "episodes_a_moment_ago"]);
    expect(errors).toEqual([]);
  });

  test("with a new embedder opens a new index and drops the old one when nothing was written to it", async () => {
    const first = await open();
    const unused = await first.memory.index.name();
    await first.memory.index.open(unused);
    await first.close();
    await database.query({ text: "update search_indexes set embedder = 'another'" });
    const second = await open();
    expect(await second.memory.index.name()).not.toBe(unused);
    await waitUntil("the unused one is dropped", async () => (await recorded()).length === 0);
    expect(await store.listIndexes()).toEqual([]);
    await second.close();
    expect(errors).toEqual([]);
  });
});
