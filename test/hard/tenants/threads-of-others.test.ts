import { beforeAll, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { framesOf, langGraphClient, human, lastOf, refusalOf } from "../../server/langgraph/langgraph-client.ts";
import { callApi, listConversations, putJson } from "../../support/clients/api-client.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { bearer, JWT_SECRET } from "../../servers/token-issuer.ts";
import { apiKeysOf, keyOf, tokenOf } from "./tenant-world.ts";

const ACME = bearer(keyOf("acme"));
const running = useServiceWithModel({ API_KEYS: apiKeysOf(["acme", "acme-corp"]), JWT_SECRET, JWT_TENANT_CLAIM: "tenant" });
const client = (headers: Record<string, string>) => langGraphClient(running.url, headers);
let threadId = "";
beforeAll(async () => {
  await putJson(`${running.url}/api/v1/agents/of-acme`, { description: "Helps" }, ACME);
  threadId = (await client(ACME).threads.create({ metadata: { user_id: "ada", topic: "boats" } })).thread_id;
});

test("a client can send its key as LangGraph's clients do, and can do nothing without one", async () => {
  const { threads } = client({ "x-api-key": keyOf("acme") });
  expect(await threads.get(threadId)).toMatchObject({ thread_id: threadId });
  for (const headers of [{}, { "x-api-key": "wrong" }])
    expect(await refusalOf(client(headers as Record<string, string>).threads.search())).toMatchObject({ status: 401 });
});

test("only their owner finds and counts threads", async () => {
  for (const headers of [ACME, tokenOf("acme", "ada")]) {
    expect((await client(headers).threads.search({ metadata: { topic: "boats" } })).map(({ thread_id }) => thread_id)).toEqual([threadId]);
    expect(await client(headers).threads.count({ metadata: { topic: "boats", user_id: "ada" } })).toBe(1);
  }
  for (const headers of [bearer(keyOf("acme-corp")), tokenOf("acme", "bob"), tokenOf("acme-corp", "ada")]) {
    const { threads } = client(headers);
    for (const metadata of [{}, { user_id: "ada" }, { topic: "boats" }]) {
      expect(await threads.search({ metadata })).toEqual([]);
      expect(await threads.count({ metadata })).toBe(0);
    }
    expect(await threads.search({ ids: [threadId] })).toEqual([]);
  }
});

test("an id of somebody else's thread is treated as a new id, and shows nothing of that thread", async () => {
  const chosen = uuidv7();
  await client(tokenOf("acme", "ada")).threads.create({ threadId: chosen, metadata: { secret: "boats" } });
  for (const headers of [tokenOf("acme", "bob"), tokenOf("acme-corp", "ada")]) {
    const { threads, runs } = client(headers);
    const seen = async (id: string, ifExists: "raise" | "do_nothing"): Promise<string> => {
      const all = [
        await refusalOf(threads.get(id)),
        await threads.create({ threadId: id, ifExists, metadata: { topic: "mine" } }),
        await refusalOf(threads.create({ threadId: id, ifExists: "raise" })),
        await threads.create({ threadId: id, ifExists: "do_nothing" }),
        await threads.search({ ids: [id] }),
        await runs.wait(id, "assistant", { input: human("Hello") }),
        (await threads.getHistory(id)).map(({ checkpoint, parent_checkpoint: parent }) => [checkpoint.thread_id, parent]),
        (await runs.list(id)).map(({ thread_id: of, status }) => [of, status]),
        await threads.delete(id),
        await refusalOf(threads.get(id)),
        await refusalOf(runs.wait(id, "assistant", { input: human("Hello") })),
        ((await runs.wait(id, "assistant", { input: human("Hello"), ifNotExists: "create" })) as { messages: unknown[] }).messages.length,
        await threads.delete(id),
      ];
      return JSON.stringify(all)
        .replaceAll(id, "ID")
        .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[\d:.]+Z|"[a-z_]*ms":[\d.]+|\d+ ms/g, "");
    };
    for (const ifExists of ["raise", "do_nothing"] as const) {
      const fresh = await seen(uuidv7(), ifExists);
      for (const taken of [threadId, chosen]) expect(await seen(taken, ifExists)).toBe(fresh);
    }
  }
  expect(await client(ACME).threads.get(chosen)).toMatchObject({ thread_id: chosen, metadata: { secret: "boats", user_id: "ada" } });
  expect(await client(ACME).threads.get(threadId)).toMatchObject({ metadata: { topic: "boats" } });
  await client(ACME).threads.delete(chosen);
});

test("a token's user owns its threads and runs, and can name no other user", async () => {
  const bob = client(tokenOf("acme", "bob"));
  expect(await refusalOf(bob.threads.create({ metadata: { user_id: "ada" } }))).toMatchObject({ status: 403 });
  expect(await bob.threads.create()).toMatchObject({ metadata: { user_id: "bob" } });
  const named = { input: human("Hello"), context: { user_id: "ada" } };
  expect(await refusalOf(bob.runs.wait(null, "assistant", named))).toMatchObject({ status: 403 });
  const [first, ...rest] = await framesOf(bob.runs.stream(null, "assistant", { input: human("Hello"), streamMode: "values" }));
  expect(lastOf(rest).messages).toHaveLength(2);
  const { run_id: runId } = first?.data as { run_id: string };
  expect((await framesOf(bob.runs.joinStream(null, runId))).at(-1)).toEqual(rest.at(-1));
  for (const headers of [tokenOf("acme", "ada"), bearer(keyOf("acme-corp"))])
    expect(await refusalOf(framesOf(client(headers).runs.joinStream(null, runId)))).toMatchObject({ status: 404 });
  expect(await refusalOf(client(ACME).runs.wait(null, "assistant", { input: human("Hello") }))).toMatchObject({
    status: 400,
    message: expect.stringContaining("user_id") as unknown,
  });
  expect((await listConversations(running.url, "ada", ACME)).map((one) => one.id)).toEqual([threadId]);
});

test("a user's items in the store are hidden from other tenants, and a token's user has only its own", async () => {
  const { store } = client(ACME);
  await store.putItem(["ada", "archive"], "boat", { content: "Ada has a boat." });
  expect(await store.getItem(["ada", "archive"], "boat")).toMatchObject({ value: { content: "Ada has a boat." } });
  for (const headers of [bearer(keyOf("acme-corp")), tokenOf("acme-corp", "ada")]) {
    const strange = client(headers).store;
    expect(await strange.getItem(["ada", "archive"], "boat")).toBeNull();
    expect(await strange.searchItems(["ada"])).toEqual({ items: [] });
    expect(await strange.listNamespaces({ prefix: ["ada"] })).toEqual({ namespaces: [] });
    await strange.deleteItem(["ada", "archive"], "boat");
  }
  const bob = client(tokenOf("acme", "bob")).store;
  for (const call of [
    bob.getItem(["ada", "archive"], "boat"),
    bob.putItem(["ada", "archive"], "boat", { content: "Bob has it." }),
    bob.deleteItem(["ada", "archive"], "boat"),
    bob.searchItems(["ada"]),
  ])
    expect(await refusalOf(call)).toMatchObject({ status: 404 });
  expect(await store.getItem(["ada", "archive"], "boat")).toMatchObject({ value: { content: "Ada has a boat." } });
});

test("an assistant is seen by its own tenant only", async () => {
  const namesFor = async (headers: Record<string, string>) => (await client(headers).assistants.search()).map(({ name }) => name);
  expect(await namesFor(ACME)).toEqual(["assistant", "of-acme"]);
  const strangers = bearer(keyOf("acme-corp"));
  expect(await namesFor(strangers)).toEqual(["assistant"]);
  expect(await refusalOf(client(strangers).assistants.getVersions("of-acme"))).toMatchObject({ status: 404 });
  expect((await callApi(`${running.url}/langgraph/assistants/of-acme`, { headers: strangers })).status).toBe(404);
});
