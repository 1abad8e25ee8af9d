import { beforeAll, describe, expect, test } from "@jest/globals";
import type { TurnResult } from "../../../../turn/events.ts";
import { callApi, type ApiResponse, type ErrorBody, postJson } from "../../../support/clients/api-client.ts";
import { createRealDatabase } from "../../../support/databases/databases.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { makeKnowledgeClient } from "../../../support/clients/knowledge-client.ts";
import { openOfflineCoreMemory } from "../../../support/services/service-with-core-memory.ts";
import { useOpened } from "../../../support/use-opened.ts";

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const ID = expect.stringMatching(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);

describe("core memory over HTTP", () => {
  const service = useOpened(() => openOfflineCoreMemory({ CORE_MEMORY_SECTIONS: "hobbies, family,profile" }));

  const aUser = (): string => `user ${crypto.randomUUID()}`;

  test("shows what a person wrote with its time, its author and its version, which is the ETag, too", async () => {
    const user = aUser();
    const content = `  Name: Ada\n住在里斯本\n${"😀".repeat(1_982)}`; // 2,000 characters by code points
    const { status, json, headers } = await service.put(user, "profile", { content });
    const written = { section: "profile", content, version: 1 };
    expect({ status, json, etag: headers.get("etag") }).toEqual({ status: 200, json: written, etag: '"1"' });
    const lines = content.split("\n").flatMap((line) => (line.trim() === "" ? [] : [{ content: line, trigger_message_ids: [] }]));
    expect(await service.read(user)).toEqual([{ ...written, updated_at: TIME, updated_by: "person", lines }]);
    const again = await service.put(user, "profile", { content: "Name: Grace" });
    expect([again.json.version, again.headers.get("etag")]).toEqual([2, '"2"']);
    expect(await service.contents(user)).toEqual({ profile: "Name: Grace" });
  });

  test("shows sections in their configured order, with those of CORE_MEMORY_SECTIONS after the five built-in ones", async () => {
    const user = aUser();
    const names = ["family", "hobbies", "constraints", "profile", "relationships", "goals", "preferences"];
    for (const name of names) await service.write(user, name, `about ${name}`);
    const shown = (await service.read(user)).map(({ section }) => section);
    expect(shown).toEqual(["profile", "preferences", "goals", "relationships", "constraints", "hobbies", "family"]);
  });

  test.each(['"1"', 'W/"1"', "1", ' "1" '])("takes If-Match %j for version 1, and for no other version", async (tag) => {
    const user = aUser();
    await service.write(user, "goals", "one");
    const written = await service.put(user, "goals", { content: "two" }, { "if-match": tag });
    expect([written.status, written.json.version]).toEqual([200, 2]);
    const { status, json } = await service.put(user, "goals", { content: "three" }, { "if-match": tag });
    expect({ status, json }).toMatchObject({ status: 409, json: { error: { code: "stale_version" } } });
    expect(JSON.stringify(json)).toMatch(/no longer at version 1.*If-Match/);
    expect(await service.contents(user)).toEqual({ goals: "two" });
  });

  test("takes If-None-Match: * only while a section has no content, also after a removal", async () => {
    const user = aUser();
    const onlyNew = { "if-none-match": "*" };
    expect((await service.put(user, "goals", { content: "one" }, onlyNew)).status).toBe(200);
    const refused = await service.put(user, "goals", { content: "two" }, onlyNew);
    expect({ status: refused.status, text: refused.text }).toEqual({ status: 409, text: expect.stringMatching(/is there already/) });
    expect((await service.remove(user, "goals")).json).toEqual({ section: "goals", content: null, version: 2 });
    expect((await service.put(user, "goals", { content: "three" }, onlyNew)).json).toMatchObject({ version: 3, content: "three" });
  });

  test("removes a section once, and keeps its versions", async () => {
    const user = aUser();
    await service.write(user, "goals", "one");
    expect((await service.remove(user, "goals", { "if-match": '"7"' })).status).toBe(409);
    expect((await service.remove(user, "goals", { "if-match": '"1"' })).json).toEqual({ section: "goals", content: null, version: 2 });
    expect(await service.read(user)).toEqual([]);
    expect(await service.remove(user, "goals")).toMatchObject({ status: 404, json: { error: { code: "not_found" } } });
    expect((await service.history(user, "goals")).json.versions).toMatchObject([{ content: null }, { content: "one" }]);
  });

  test("shows history and operations page by page with the newest first and with every field", async () => {
    const user = aUser();
    for (let number = 1; number <= 3; number++) await service.write(user, "goals", `goal ${number}`);
    const first = (await service.history(user, "goals", "?limit=2")).json;
    const rest = (await service.history(user, "goals", `?limit=2&after=${first.next}`)).json;
    expect([...first.versions, ...rest.versions].map(({ version }) => version)).toEqual([3, 2, 1]);
    expect(rest.next).toBeNull();
    const byPerson = { conversation_id: null, trigger_message_id: null, created_at: TIME };
    expect(first.versions[0]).toEqual({ version: 3, content: "goal 3", updated_by: "person", ...byPerson });

    const newest = (await service.operations(user, "?limit=2")).json;
    const oldest = (await service.operations(user, `?limit=2&after=${encodeURIComponent(newest.next ?? "")}`)).json;
    expect([...newest.operations, ...oldest.operations].map(({ version }) => version)).toEqual([3, 2, 1]);
    expect(oldest.next).toBeNull();
    const values = { section: "goals", version: 3, old_value: "goal 2", new_value: "goal 3" };
    const why = { reason: null, actor: "person", refused: null, trigger_message_ids: [], kb_prefix: null };
    const ofArchive = { episode_type: null, importance: null, results_count: null, top_result: null };
    expect(newest.operations[0]).toEqual({ id: ID, operation: "core_update", ...values, ...why, ...ofArchive, ...byPerson });
    expect((await service.operations(user, `?trigger_message_id=${crypto.randomUUID()}`)).json.operations).toEqual([]);
  });

  test("goes back to an earlier version by writing a new one, and refuses a version that does not exist", async () => {
    const user = aUser();
    for (const content of ["one", "two"]) await service.write(user, "goals", content);
    expect((await service.revert(user, "goals", { version: 1 }, { "if-match": '"1"' })).status).toBe(409);
    const { status, json, headers } = await service.revert(user, "goals", { version: 1 }, { "if-match": '"2"' });
    const reverted = { section: "goals", content: "one", version: 3 };
    expect({ status, json, etag: headers.get("etag") }).toEqual({ status: 200, json: reverted, etag: '"3"' });
    expect(await service.contents(user)).toEqual({ goals: "one" });
    expect(await service.revert(user, "goals", { version: 9 })).toMatchObject({ status: 404, json: { error: { code: "not_found" } } });
    expect(await service.revert(aUser(), "goals", { version: 1 })).toMatchObject({ status: 404 });
  });

  test("shows for a change by the agent the message and the conversation that caused it", async () => {
    const user = aUser();
    const turn = await service.say(user, "I live in Porto.");
    await service.settle(turn.conversation_id);
    const [section] = await service.read(user);
    expect(section).toMatchObject({ version: 1, updated_by: "agent" });
    expect(section?.lines).toEqual([{ content: section?.content, trigger_message_ids: [ID] }]);
    expect(section?.content).toMatch(/Porto/);
    const { versions } = (await service.history(user, section?.section ?? "")).json;
    const from = { conversation_id: turn.conversation_id, trigger_message_id: ID };
    expect(versions).toEqual([{ version: 1, content: section?.content, updated_by: "agent", created_at: TIME, ...from }]);
    const { operations } = (await service.operations(user)).json;
    const cause = { ...from, trigger_message_id: versions[0]?.trigger_message_id, kb_prefix: "general" };
    expect(operations).toMatchObject([{ ...cause, actor: "agent", old_value: null }]);
  });

  test("shows for a change by the agent the knowledge base of its turn", async () => {
    const user = aUser();
    await makeKnowledgeClient(service.url).put("homes", { description: "Homes", worker: "naive_rag_agent" });
    const asked = { user_id: user, session_id: "s", message: "I live in Porto.", kb_prefix: "homes" };
    const { json } = await postJson<TurnResult>(`${service.url}/api/v1/chat`, asked);
    await service.settle(json.conversation_id);
    expect((await service.operations(user)).json.operations).toMatchObject([{ actor: "agent", kb_prefix: "homes" }]);
  });

  beforeAll(() => service.write("ada", "goals", "kept"));

  /** Refused with 400 naming the field, and nothing is written. */
  async function expectInvalid(asked: Promise<ApiResponse<object>>, field: string, says = /./): Promise<void> {
    const { status, headers, text } = await asked;
    expectRefusal({ status, headers, text, json: JSON.parse(text) as ErrorBody }, { status: 400, code: "invalid_request", field, says });
    expect(await service.contents("ada")).toEqual({ goals: "kept" });
    expect((await service.operations("ada")).json.operations).toHaveLength(1);
  }

  test.each(["*", '"', "", '""', "abc", '"-1"', '"1.5"', '"1", "2"', '"1e3"', "½", '"9999999999"', `"${"1".repeat(500)}"`])(
    "refuses a write, a removal and a revert when If-Match is %j",
    async (tag) => {
      const headers = { "if-match": tag };
      await expectInvalid(service.put("ada", "goals", { content: "new" }, headers), "If-Match", /send the version in quotes/);
      await expectInvalid(service.remove("ada", "goals", headers), "If-Match");
      await expectInvalid(service.revert("ada", "goals", { version: 1 }, headers), "If-Match");
    },
  );

  test.each<[string, unknown, string, RegExp]>([
    [
      "more than 2,000 characters beyond the basic plane",
      { content: "😀".repeat(2_001) },
      "content",
      /more than 2000 characters; shorten it/,
    ],
    ["nothing", { content: "" }, "content", /is blank; DELETE removes a section/],
    ["blanks", { content: " \n\t\u3000" }, "content", /is blank/],
    ["a NUL", { content: "a\0b" }, "content", /NUL character \(U\+0000\) at position 1/],
    ["half a surrogate pair", '{"content":"face \\ud83d"}', "content", /half of a surrogate pair/],
    ["no content", {}, "content", /is missing/],
    ["a number", { content: 5 }, "content", /must be a string/],
    ["null", { content: null }, "content", /must be a string/],
    ["an unknown field", { content: "x", version: 3 }, "version", /not a known field/],
    ["a list", [{ content: "x" }], "body", /./],
  ])("refuses a section with %s", (_name, body, field, says) => expectInvalid(service.put("ada", "goals", body), field, says));

  test.each<[string, unknown, string]>([
    ["no version", {}, "version"],
    ["a version that is no number", { version: "1" }, "version"],
    ["a version that is not whole", { version: 1.5 }, "version"],
    ["a version that is far too high", { version: 1e12 }, "version"],
    ["another field", { version: 1, content: "x" }, "content"],
  ])("refuses a revert with %s", (_name, body, field) => expectInvalid(service.revert("ada", "goals", body), field));

  test.each(["unknown", "Goals", "goals%00", "%F0%9F%98%80", "..%2Fgoals", "x".repeat(4_000), "__proto__"])(
    "refuses every request for the section %s, which does not exist",
    async (name) => {
      await expectInvalid(service.put("ada", name, { content: "x" }), "section", /is not one of profile, preferences, goals, .*hobbies/);
      await expectInvalid(service.revert("ada", name, { version: 1 }), "section");
      if (name === "unknown") return expect((await service.remove("ada", name)).status).toBe(404); // it could have been configured
      await expectInvalid(service.remove("ada", name), "section");
      await expectInvalid(service.history("ada", name), "section");
    },
  );

  test.each([
    ["limit=x", "limit"],
    ["after=rubbish", "after"],
    ["limit=1&limit=2", "limit"],
  ])("refuses the query %s for a history and for a list of operations", async (query, field) => {
    await expectInvalid(service.history("ada", "goals", `?${query}`), field);
    await expectInvalid(service.operations("ada", `?${query}`), field);
  });

  test("refuses a history before version 1, and operations of an id that is no message's", async () => {
    await expectInvalid(service.history("ada", "goals", "?after=0"), "after");
    await expectInvalid(service.operations("ada", "?trigger_message_id=x"), "trigger_message_id");
  });

  test.each(["%00", "x".repeat(201)])("refuses the user id %s", async (userId) => {
    for (const path of ["core-memory", "memory-operations", "core-memory/goals/history"])
      await expectInvalid(callApi<ErrorBody>(`${service.url}/api/v1/users/${userId}/${path}`), "user_id");
  });
});

test("a section that is no longer configured can be read and removed, but not written", async () => {
  const { url, drop } = await createRealDatabase();
  const before = await openOfflineCoreMemory({ DATABASE_URL: url, CORE_MEMORY_SECTIONS: "hobbies" });
  await before.write("ada", "hobbies", "chess");
  await before.close();
  const after = await openOfflineCoreMemory({ DATABASE_URL: url });
  expect(await after.contents("ada")).toEqual({ hobbies: "chess" });
  expect((await after.put("ada", "hobbies", { content: "go" })).status).toBe(400);
  expect((await after.history("ada", "hobbies")).json.versions).toHaveLength(1);
  expect((await after.remove("ada", "hobbies", { "if-match": '"1"' })).json).toMatchObject({ content: null, version: 2 });
  await after.close();
  await drop();
});
