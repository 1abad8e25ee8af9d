import { describe, expect, test } from "@jest/globals";
import { openOfflineCoreMemory } from "../../support/services/service-with-core-memory.ts";
import { useOpened } from "../../support/use-opened.ts";

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const ID = expect.stringMatching(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);

describe("core memory over HTTP", () => {
  const service = useOpened(() => openOfflineCoreMemory({ CORE_MEMORY_SECTIONS: "hobbies, family,profile" }));

  const aUser = (): string => `user ${crypto.randomUUID()}`;

  test("is empty for a user whom nothing is known of", async () => {
    expect(await service.read("nobody")).toEqual([]);
    expect((await service.history("nobody", "profile")).json).toEqual({ versions: [], next: null });
    expect((await service.operations("nobody")).json).toEqual({ operations: [], next: null });
  });

  test("shows what a person wrote with its version, as an ETag too, its time and that a person wrote it", async () => {
    const user = aUser();
    const content = `  Name: Ada\n住在里斯本\n${"😀".repeat(1_982)}`; // 2,000 characters by code points
    const { status, json, headers } = await service.put(user, "profile", { content });
    expect({ status, json, etag: headers.get("etag") }).toEqual({
      status: 200,
      json: { section: "profile", content, version: 1 },
      etag: '"1"',
    });
    const lines = content.split("\n").flatMap((line) => (line.trim() === "" ? [] : [{ content: line, trigger_message_ids: [] }]));
    expect(await service.read(user)).toEqual([{ section: "profile", content, version: 1, updated_at: TIME, updated_by: "person", lines }]);
    const again = await service.put(user, "profile", { content: "Name: Grace" });
    expect([again.json.version, again.headers.get("etag")]).toEqual([2, '"2"']);
    expect(await service.contents(user)).toEqual({ profile: "Name: Grace" });
  });

  test("shows sections in the order of the configuration, those of CORE_MEMORY_SECTIONS behind the five there are by themselves", async () => {
    const user = aUser();
    const names = ["family", "hobbies", "constraints", "profile", "relationships", "goals", "preferences"];
    for (const name of names) await service.write(user, name, `about ${name}`);
    const shown = (await service.read(user)).map(({ section }) => section);
    expect(shown).toEqual(["profile", "preferences", "goals", "relationships", "constraints", "hobbies", "family"]);
  });

  test.each(['"1"', 'W/"1"', "1", ' "1" '])("writes over version 1 with If-Match %j, and over no other", async (tag) => {
    const user = aUser();
    await service.write(user, "goals", "one");
    const written = await service.put(user, "goals", { content: "two" }, { "if-match": tag });
    expect([written.status, written.json.version]).toEqual([200, 2]);
    const { status, json } = await service.put(user, "goals", { content: "three" }, { "if-match": tag });
    expect({ status, json }).toMatchObject({ status: 409, json: { error: { code: "stale_version" } } });
    expect(JSON.stringify(json)).toMatch(/no longer at version 1.*If-Match/);
    expect(await service.contents(user)).toEqual({ goals: "two" });
  });

  test("writes with If-None-Match: * only where there is nothing, also after a removal", async () => {
    const user = aUser();
    const onlyNew = { "if-none-match": "*" };
    expect((await service.put(user, "goals", { content: "one" }, onlyNew)).status).toBe(200);
    const refused = await service.put(user, "goals", { content: "two" }, onlyNew);
    expect({ status: refused.status, text: refused.text }).toEqual({ status: 409, text: expect.stringMatching(/is there already/) });
    expect((await service.remove(user, "goals")).json).toEqual({ section: "goals", content: null, version: 2 });
    expect((await service.put(user, "goals", { content: "three" }, onlyNew)).json).toMatchObject({ version: 3, content: "three" });
  });

  test("removes a section, keeps its versions, and finds none to remove the second time", async () => {
    const user = aUser();
    await service.write(user, "goals", "one");
    expect((await service.remove(user, "goals", { "if-match": '"7"' })).status).toBe(409);
    expect((await service.remove(user, "goals", { "if-match": '"1"' })).json).toEqual({ section: "goals", content: null, version: 2 });
    expect(await service.read(user)).toEqual([]);
    expect(await service.remove(user, "goals")).toMatchObject({ status: 404, json: { error: { code: "not_found" } } });
    const { versions } = (await service.history(user, "goals")).json;
    expect(versions.map(({ version, content }) => [version, content])).toEqual([
      [2, null],
      [1, "one"],
    ]);
  });

  test("shows history and operations newest first, in pages, with every field", async () => {
    const user = aUser();
    for (let number = 1; number <= 3; number++) await service.write(user, "goals", `goal ${number}`);
    const first = (await service.history(user, "goals", "?limit=2")).json;
    const rest = (await service.history(user, "goals", `?limit=2&after=${first.next}`)).json;
    expect([...first.versions, ...rest.versions].map(({ version }) => version)).toEqual([3, 2, 1]);
    expect(rest.next).toBeNull();
    const byPerson = { conversation_id: null, trigger_message_id: null, created_at: TIME };
    expect(first.versions[0]).toEqual({ version: 3, content: "goal 3", updated_by: "person", ...byPerson });

    await service.remove(user, "goals");
    const newest = (await service.operations(user, "?limit=3")).json;
    const oldest = (await service.operations(user, `?limit=3&after=${encodeURIComponent(newest.next ?? "")}`)).json;
    const listed = [...newest.operations, ...oldest.operations];
    expect(listed.map(({ new_value }) => new_value)).toEqual([null, "goal 3", "goal 2", "goal 1"]);
    expect([newest.operations.length, oldest.next]).toEqual([3, null]);
    expect(listed[1]).toEqual({
      id: ID,
      operation: "core_update",
      section: "goals",
      version: 3,
      old_value: "goal 2",
      new_value: "goal 3",
      reason: null,
      actor: "person",
      refused: null,
      trigger_message_ids: [],
      ...byPerson,
    });
    const ofNoMessage = await service.operations(user, `?trigger_message_id=${crypto.randomUUID()}`);
    expect(ofNoMessage.json.operations).toEqual([]);
  });

  test("goes back to an earlier version by a new one, with its reason in the log, and to none that is not there", async () => {
    const user = aUser();
    await service.write(user, "goals", "one");
    await service.write(user, "goals", "two");
    expect((await service.revert(user, "goals", { version: 1 }, { "if-match": '"1"' })).status).toBe(409);
    const { status, json, headers } = await service.revert(user, "goals", { version: 1 }, { "if-match": '"2"' });
    expect({ status, json, etag: headers.get("etag") }).toEqual({
      status: 200,
      json: { section: "goals", content: "one", version: 3 },
      etag: '"3"',
    });
    expect(await service.contents(user)).toEqual({ goals: "one" });
    expect((await service.operations(user)).json.operations[0]).toMatchObject({
      old_value: "two",
      new_value: "one",
      reason: "Back to version 1.",
    });
    expect(await service.revert(user, "goals", { version: 9 })).toMatchObject({ status: 404, json: { error: { code: "not_found" } } });
    expect(await service.revert(aUser(), "goals", { version: 1 })).toMatchObject({ status: 404 });
  });

  test("tells of a change by the agent which message gave rise to it and in which conversation", async () => {
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
    expect(operations).toMatchObject([{ ...from, actor: "agent", trigger_message_id: versions[0]?.trigger_message_id, old_value: null }]);
  });
});
