import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { openOfflineCoreMemory, type CoreMemoryApi } from "../../support/services/service-with-core-memory.ts";
import type { TestService } from "../../support/services/service.ts";

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const ID = expect.stringMatching(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);

describe("core memory over HTTP", () => {
  let service: TestService & CoreMemoryApi;
  beforeAll(async () => {
    service = await openOfflineCoreMemory({ CORE_MEMORY_SECTIONS: "hobbies, family,profile" });
  });
  afterAll(() => service.close());

  const aUser = (): string => `user ${crypto.randomUUID()}`;

  test("is empty for a user whom nothing is known of", async () => {
    expect(await service.read("nobody")).toEqual([]);
    expect((await service.history("nobody", "profile")).json).toEqual({ versions: [], next: null });
    expect((await service.operations("nobody")).json).toEqual({ operations: [], next: null });
  });

  test("shows what a person wrote with its version, as an ETag too, its time and that a person wrote it", async () => {
    const user = aUser();
    const content = "  Name: Ada 😀\n住在里斯本\n";
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

  test("counts 2,000 characters by code points: as many are taken, whatever their bytes", async () => {
    const user = aUser();
    for (const content of ["😀".repeat(2_000), "导".repeat(2_000), "x".repeat(2_000)]) {
      expect((await service.write(user, "profile", content)).content).toBe(content);
    }
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

  test("of ten who write over the same version at once, one wins, the others are told, and nothing else is left behind", async () => {
    const user = aUser();
    await service.write(user, "goals", "start");
    const racers = Array.from({ length: 10 }, (_, number) =>
      service.put(user, "goals", { content: `racer ${number}` }, { "if-match": '"1"' }),
    );
    const answers = await Promise.all(racers);
    const winners = answers.flatMap(({ status, json }) => (status === 200 ? [json] : []));
    expect(winners).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(9);
    expect(await service.contents(user)).toEqual({ goals: winners[0]?.content });
    expect((await service.history(user, "goals")).json.versions).toHaveLength(2);
    expect((await service.operations(user)).json.operations).toHaveLength(2);
  });

  test("of ten who write without If-Match at once, each gets a version of its own", async () => {
    const user = aUser();
    const answers = await Promise.all(Array.from({ length: 10 }, (_, number) => service.write(user, "goals", `racer ${number}`)));
    expect(answers.map(({ version }) => version).sort((one, other) => one - other)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    const [newest] = answers.filter(({ version }) => version === 10);
    expect(await service.contents(user)).toEqual({ goals: newest?.content });
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

  test("shows the history newest first, in pages without gaps, with who wrote each version", async () => {
    const user = aUser();
    for (let number = 1; number <= 7; number++) await service.write(user, "goals", `goal ${number}`);
    const pages: number[][] = [];
    for (let after = ""; ;) {
      const { status, json } = await service.history(user, "goals", `?limit=3${after}`);
      expect(status).toBe(200);
      pages.push(json.versions.map(({ version }) => version));
      if (json.next === null) break;
      after = `&after=${json.next}`;
    }
    expect(pages).toEqual([[7, 6, 5], [4, 3, 2], [1]]);
    const [newest] = (await service.history(user, "goals", "?limit=1")).json.versions;
    expect(newest).toEqual({
      version: 7,
      content: "goal 7",
      updated_by: "person",
      created_at: TIME,
      conversation_id: null,
      trigger_message_id: null,
    });
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

  test("lists memory operations newest first, with every field, in pages without gaps or repeats", async () => {
    const user = aUser();
    for (let number = 1; number <= 6; number++) await service.write(user, "goals", `goal ${number}`);
    await service.remove(user, "goals");
    const listed: { new_value: string | null }[] = [];
    const sizes: number[] = [];
    for (let after = ""; ;) {
      const { status, json } = await service.operations(user, `?limit=3${after}`);
      expect(status).toBe(200);
      listed.push(...json.operations);
      sizes.push(json.operations.length);
      if (json.next === null) break;
      after = `&after=${encodeURIComponent(json.next)}`;
    }
    expect(sizes).toEqual([3, 3, 1]);
    expect(listed.map(({ new_value }) => new_value)).toEqual([null, "goal 6", "goal 5", "goal 4", "goal 3", "goal 2", "goal 1"]);
    expect(listed[1]).toEqual({
      id: ID,
      operation: "core_update",
      section: "goals",
      version: 6,
      old_value: "goal 5",
      new_value: "goal 6",
      reason: null,
      actor: "person",
      refused: null,
      trigger_message_id: null,
      trigger_message_ids: [],
      conversation_id: null,
      created_at: TIME,
    });
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
    expect(versions).toEqual([
      {
        version: 1,
        content: section?.content,
        updated_by: "agent",
        created_at: TIME,
        conversation_id: turn.conversation_id,
        trigger_message_id: ID,
      },
    ]);
    const { operations } = (await service.operations(user)).json;
    expect(operations).toMatchObject([
      { actor: "agent", conversation_id: turn.conversation_id, trigger_message_id: versions[0]?.trigger_message_id, old_value: null },
    ]);
  });
});
