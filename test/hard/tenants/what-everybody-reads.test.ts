import { expect, test } from "@jest/globals";
import { findResidualData, type ResidualData } from "../../../memory/erase/find-residual-data.ts";
import { knowledgeKey, ownerKey } from "../../../stores/index-keys.ts";
import { callApi, postJson } from "../../support/clients/api-client.ts";
import { addressOf, routesOfService } from "../../support/clients/app-routes.ts";
import { whyNoMilvus } from "../../servers/milvus-server.ts";
import { describeUnless } from "../../support/describe-unless.ts";
import { useOpened } from "../../support/use-opened.ts";
import { tablesHolding } from "../../support/databases/scan-tables.ts";
import { bearer } from "../../servers/token-issuer.ts";
import { FOREIGN_IDS, HOLDS_NOBODYS, READS } from "./tenant-routes.ts";
import { WRITES } from "./tenant-writes.ts";
import { fingerprints, readOwnedRows } from "./tenant-rows.ts";
import { keyOf, openTenantStage, type Person, secretsIn, STRANGERS, type TenantDocument, TENANTS, tokenOf } from "./tenant-world.ts";

const NEVER = "00000000-0000-7000-8000-000000000000";

describeUnless(await whyNoMilvus(), "people whose ids look alike, on real Postgres and Milvus Lite", () => {
  const stage = useOpened(openTenantStage, 600_000);

  const read = (address: string, headers: Record<string, string>) => fetch(stage.url + address, { headers });
  const adaOf = (tenant: string): Person => stage.people.find(({ tenantId, userId }) => tenantId === tenant && userId === "ada") as Person;
  const documentOf = (tenant: string): TenantDocument => stage.documents.get(tenant) as TenantDocument;

  test("are tested on every route of the service", async () => {
    const routes = (await routesOfService(stage.url)).map(({ method, path }) => `${method} ${path}`);
    expect([...Object.keys(READS), ...HOLDS_NOBODYS, ...Object.keys(WRITES)].toSorted()).toEqual(routes.toSorted());
  });

  test("read their own data and no one else's, with a key of the tenant and with a token of their own", async () => {
    for (const person of stage.people) {
      const document = documentOf(person.tenantId);
      for (const headers of [person.headers, tokenOf(person.tenantId, person.userId)]) {
        for (const [route, { address, holds }] of Object.entries(READS)) {
          const response = await read(address(person, document), headers);
          const own = { own: person.secret, tenant: document.secret, nothing: "" }[holds];
          const text = await response.text();
          const seen = { of: [person.tenantId, person.userId], route, status: response.status, secrets: secretsIn(text) };
          expect(seen).toEqual({ ...seen, status: 200, secrets: own === "" ? [] : [own] });
        }
      }
    }
  }, 600_000);

  test("recall their own data and no one else's over MCP, and no summary of another's conversation", async () => {
    const victim = adaOf("acme");
    for (const person of stage.people) {
      const { secret: ofTenant } = documentOf(person.tenantId);
      const foreign = person === victim ? adaOf("acm") : victim;
      const messages: [method: string, params: object, secrets: string[]][] = [
        ["tools/call", { name: "recall", arguments: { query: "town", limit: 20 } }, [person.secret]],
        ["tools/call", { name: "core_memory_get", arguments: {} }, [person.secret]],
        ["tools/call", { name: "list_conversations", arguments: { limit: 200 } }, [person.secret]],
        ["tools/call", { name: "knowledge_search", arguments: { query: "the book" } }, [ofTenant]],
        ["resources/read", { uri: "memory://core-memory" }, [person.secret]],
        ["resources/list", {}, [person.secret]],
        ["resources/read", { uri: `memory://conversations/${person.turn.conversation_id}/summary` }, [person.secret]],
        ["resources/read", { uri: `memory://conversations/${foreign.turn.conversation_id}/summary` }, []],
      ];
      for (const [id, [method, params, secrets]] of messages.entries()) {
        const message = { jsonrpc: "2.0", id, method, params };
        const { status, text } = await postJson(`${stage.url}/mcp`, message, tokenOf(person.tenantId, person.userId));
        const seen = { of: [person.tenantId, person.userId], method, params, status };
        expect({ ...seen, secrets: secretsIn(text) }).toEqual({ ...seen, status: 200, secrets });
      }
    }
  });

  test("read no one's data from the routes that hold none", async () => {
    for (const route of HOLDS_NOBODYS) {
      const address = addressOf({ method: "GET", path: route.replace("GET ", "") }, { file: "x" });
      for (const tenant of ["acme", "acm-"]) expect(secretsIn(await (await read(address, bearer(keyOf(tenant)))).text())).toEqual([]);
    }
  });

  test("find no episodes of a foreign conversation, whatever they ask", async () => {
    for (const asking of [...TENANTS.map(adaOf), ...stage.people.slice(1, 12)]) {
      const victim = asking === adaOf("acme") ? adaOf("acm") : adaOf("acme");
      const query = new URLSearchParams({ query: `Who lives in ${victim.secret} town?`, conversation_id: victim.turn.conversation_id });
      const address = `${stage.url}/api/v1/users/${encodeURIComponent(asking.userId)}/episodes?${query.toString()}`;
      expect((await callApi<object>(address, { headers: asking.headers })).json).toMatchObject({ episodes: [] });
    }
  });

  test("read only their own list from a place in another's list", async () => {
    const lists = (person: Person) => [
      `/api/v1/conversations?user_id=${encodeURIComponent(person.userId)}&limit=1`,
      `/api/v1/conversations/${person.turn.conversation_id}/messages?limit=1`,
      `/api/v1/users/${encodeURIComponent(person.userId)}/memory-operations?limit=1`,
    ];
    const victim = adaOf("acme");
    const nextOf = async (address: string) =>
      (await callApi<{ next: string | null }>(stage.url + address, { headers: victim.headers })).json.next;
    const cursors = await Promise.all(lists(victim).map(nextOf));
    expect(cursors.slice(0, 2)).toEqual([expect.any(String), expect.any(String)]);
    for (const person of stage.people.filter((other) => other !== victim)) {
      for (const [number, address] of lists(person).entries()) {
        const after = cursors[number];
        if (after === null) continue;
        const response = await read(`${address}&limit=200&after=${after}`.replace("limit=1&", ""), person.headers);
        const text = await response.text();
        const foreign = secretsIn(text).filter((secret) => secret !== person.secret);
        expect({ status: response.status, foreign }).toEqual({ status: 200, foreign: [] });
        expect(text).not.toContain(victim.turn.conversation_id);
      }
    }
  });

  test("get for a foreign id the same answer as for an unknown one, on every route that takes an id, and change nothing", async () => {
    const before = fingerprints(await readOwnedRows(stage.database));
    const victims = [adaOf("acme"), adaOf("acme-corp")];
    for (const victim of victims) {
      const others = [...TENANTS, ...STRANGERS].filter((tenant) => tenant !== victim.tenantId).map((tenant) => bearer(keyOf(tenant)));
      const neighbours = ["ad", "Ada", "ada ", "\u0430da", "eve"].map((user) => tokenOf(victim.tenantId, user));
      for (const headers of [...others, ...neighbours]) {
        for (const { method, address, body } of FOREIGN_IDS) {
          const sent = body === undefined ? {} : { body: JSON.stringify(body) };
          const init = { method, headers: { "content-type": "application/json", ...headers }, ...sent };
          const foreign = await callApi(stage.url + address(victim), init);
          const id =
            [victim.turn.conversation_id, victim.turn.turnId, victim.userMessageId].find((one) => address(victim).includes(one)) ?? "";
          expect({ method, address: address(victim), status: foreign.status }).toMatchObject({ status: 404 });
          const unknown = await callApi(stage.url + address(victim).replace(id, NEVER), init);
          expect(foreign.text.replaceAll(id, NEVER)).toBe(unknown.text);
        }
        const retry = await postJson(`${stage.url}/api/v1/jobs/retry`, { conversation_id: victim.turn.conversation_id }, headers);
        expect(retry.status).toBe(404);
      }
      // The path names a user of the stranger's own tenant, who has nothing.
      const user = `/api/v1/users/${encodeURIComponent(victim.userId)}`;
      const episode = `${user}/episodes/${victim.userMessageId}`;
      for (const headers of [...STRANGERS.map((tenant) => bearer(keyOf(tenant))), ...neighbours]) {
        expect((await callApi(stage.url + episode, { method: "DELETE", headers })).status).toBe(404);
        expect(secretsIn((await callApi(`${stage.url}${user}/core-memory`, { headers })).text)).toEqual([]);
        expect([200, 404]).toContain((await callApi(stage.url + user, { method: "DELETE", headers })).status);
      }
    }
    expect(fingerprints(await readOwnedRows(stage.database))).toEqual(before);
  });

  test("cannot name, read, change or delete the knowledge of another tenant", async () => {
    const before = fingerprints(await readOwnedRows(stage.database));
    const own = { user_id: "ada", session_id: "s", message: "What does the handbook say?" };
    const { documentId, passageId } = documentOf("acme");
    for (const tenant of ["acme-corp", "ACME", "acm"]) {
      const headers = bearer(keyOf(tenant));
      expect((await postJson(`${stage.url}/api/v1/chat`, { ...own, kb_prefix: "only-acme" }, headers)).status).toBe(400);
      const completion = { model: "conversation-graph/only-acme", user: "ada", messages: [{ role: "user", content: "hi" }] };
      expect([400, 404]).toContain((await postJson(`${stage.url}/v1/chat/completions`, completion, headers)).status);
      for (const [method, path] of [
        ["GET", "only-acme"],
        ["DELETE", "only-acme"],
        ["GET", "only-acme/documents"],
        ["GET", `handbook/passages/${passageId}`],
        ["POST", `handbook/documents/${documentId}/read`],
        ["DELETE", `handbook/documents/${documentId}`],
        ["DELETE", `only-acme/documents/${documentId}`],
      ] as const) {
        const { status } = await callApi(`${stage.url}/api/v1/knowledge/${path}`, { method, headers });
        expect({ path, status }).toEqual({ path, status: 404 });
      }
      const document = { title: "intruder", text: "intruder" };
      expect((await postJson(`${stage.url}/api/v1/knowledge/only-acme/documents`, document, headers)).status).toBe(404);
    }
    expect(fingerprints(await readOwnedRows(stage.database))).toEqual(before);
  });

  test("cannot name, read or delete the agent, the skill or the rules of another tenant", async () => {
    const before = fingerprints(await readOwnedRows(stage.database));
    const own = { user_id: "ada", session_id: "s", message: "What do you know?" };
    for (const tenant of ["acme-corp", "ACME", "acm"]) {
      const headers = bearer(keyOf(tenant));
      expect((await postJson(`${stage.url}/api/v1/chat`, { ...own, agent: "only-acme" }, headers)).status).toBe(400);
      const match = { user_id: "ada", message: "only-acme handbook helper" };
      const matched = await postJson(`${stage.url}/api/v1/agents/match`, match, headers);
      expect([matched.status, matched.text.includes("only-acme")]).toEqual([200, false]);
      const rules = await callApi(`${stage.url}/api/v1/rules`, { headers });
      expect(secretsIn(rules.text)).toEqual([documentOf(tenant).secret]);
      for (const [method, path] of [
        ["GET", "agents/only-acme"],
        ["GET", "agents/only-acme/versions"],
        ["DELETE", "agents/only-acme"],
        ["GET", "skills/only-acme"],
        ["DELETE", "skills/only-acme"],
      ] as const)
        expect((await callApi(`${stage.url}/api/v1/${path}`, { method, headers })).status).toBe(404);
    }
    expect(fingerprints(await readOwnedRows(stage.database))).toEqual(before);
  });

  test("own each row in Postgres that holds what they said", async () => {
    const owners = new Map(stage.people.map((person) => [person.secret, [person.tenantId, person.userId]]));
    for (const [tenantId, { secret }] of stage.documents) owners.set(secret, [tenantId, ""]);
    const rows = await readOwnedRows(stage.database);
    for (const { table, tenantId, userId, text } of rows) {
      for (const secret of secretsIn(text)) {
        const [tenant, user] = owners.get(secret) ?? [];
        expect({ table, secret, of: [tenantId, userId] }).toEqual({ table, secret, of: [tenant, user === "" ? null : user] });
      }
    }
    const known = new Set(rows.map(({ table }) => `public.${table}`));
    for (const { secret } of stage.people.slice(0, 5)) {
      const tables = Object.keys(await tablesHolding(stage.database, secret));
      expect(tables).toEqual(expect.arrayContaining(["public.messages", "public.core_memory_sections", "public.conversation_summaries"]));
      expect(tables.filter((table) => !known.has(table) && !table.startsWith("search."))).toEqual([]);
    }
    for (const person of stage.people) {
      const texts = rows.filter(({ table, text }) => table === "messages" && secretsIn(text).includes(person.secret));
      expect(texts.length).toBeGreaterThanOrEqual(3);
    }
  });

  test("own each entity in Milvus, and its rows in Postgres, by the key derived from their ids", async () => {
    const keys = new Map(stage.people.map(({ secret, tenantId, userId }) => [secret, ownerKey(tenantId, userId)]));
    for (const [tenantId, { secret }] of stage.documents) keys.set(secret, knowledgeKey(tenantId, "handbook"));
    expect(new Set(keys.values()).size).toBe(keys.size);
    const found = new Map<string, number>();
    for (const { ownerKey: key, text } of await stage.entities()) {
      const [secret = "none", ...more] = secretsIn(text);
      expect({ secret, more, key }).toEqual({ secret, more: [], key: keys.get(secret) });
      found.set(secret, (found.get(secret) ?? 0) + 1);
    }
    expect([...found.keys()].toSorted()).toEqual([...keys.keys()].toSorted());
    for (const { secret } of stage.people) expect({ secret, episodes: found.get(secret) }).toEqual({ secret, episodes: 2 });
  });

  test("keep every row and entity when one who looks like them is erased", async () => {
    const [erased, ...others] = [adaOf("acme"), ...stage.people.filter((person) => person !== adaOf("acme"))];
    const leftOf = (person: Person): Promise<ResidualData[]> => findResidualData(stage.database, stage.store, person);
    const rowsOf = async () => [...fingerprints(await readOwnedRows(stage.database))];
    // What it has used stays in the tenant's sums, without its name.
    const isErased = ([owner]: [string, string]): boolean => owner.startsWith(`["acme","ada"] `) || owner === `["acme",""] model_usage`;
    const before = { rows: await rowsOf(), others: await Promise.all(others.slice(0, 14).map(leftOf)) };
    expect((await leftOf(erased)).length).toBeGreaterThan(6);
    expect(before.rows.filter(isErased).length).toBeGreaterThan(6);

    const answer = await callApi(`${stage.url}/api/v1/users/ada`, { method: "DELETE", headers: erased.headers });
    expect(answer.status).toBe(200);
    expect(await leftOf(erased)).toEqual([]);
    expect((await rowsOf()).filter((row) => !isErased(row))).toEqual(before.rows.filter((row) => !isErased(row)));
    expect(await Promise.all(others.slice(0, 14).map(leftOf))).toEqual(before.others);
  });
});
