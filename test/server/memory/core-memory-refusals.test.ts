import { beforeAll, describe, expect, test } from "@jest/globals";
import { callApi, type ApiResponse, type ErrorBody } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openOfflineCoreMemory } from "../../support/services/service-with-core-memory.ts";
import { useOpened } from "../../support/use-opened.ts";

describe("what core memory over HTTP refuses", () => {
  const service = useOpened(() => openOfflineCoreMemory({ CORE_MEMORY_SECTIONS: "hobbies" }));
  beforeAll(async () => {
    await service.write("ada", "goals", "kept");
  });

  /** Refused with 400 naming the field, and nothing is written. */
  async function expectInvalid(asked: Promise<ApiResponse<object>>, field: string, says = /./): Promise<void> {
    const { status, headers, text } = await asked;
    expectRefusal({ status, headers, text, json: JSON.parse(text) as ErrorBody }, { status: 400, code: "invalid_request", field, says });
    expect(await service.contents("ada")).toEqual({ goals: "kept" });
    expect((await service.operations("ada")).json.operations).toHaveLength(1);
  }

  test.each(["*", '"', "", '""', "abc", '"-1"', '"1.5"', '"1", "2"', '"1e3"', "½", '"9999999999"', `"${"1".repeat(500)}"`])(
    "a write, a removal and a revert with If-Match %j",
    async (tag) => {
      const headers = { "if-match": tag };
      await expectInvalid(service.put("ada", "goals", { content: "new" }, headers), "If-Match", /send the version in quotes/);
      await expectInvalid(service.remove("ada", "goals", headers), "If-Match");
      await expectInvalid(service.revert("ada", "goals", { version: 1 }, headers), "If-Match");
    },
  );

  test.each<[string, unknown, string, RegExp]>([
    ["more than 2,000 characters", { content: "x".repeat(2_001) }, "content", /more than 2000 characters; shorten it/],
    ["more than 2,000 characters beyond the basic plane", { content: "😀".repeat(2_001) }, "content", /more than 2000/],
    ["nothing", { content: "" }, "content", /is blank; DELETE removes a section/],
    ["blanks", { content: " \n\t\u3000" }, "content", /is blank/],
    ["a NUL", { content: "a\0b" }, "content", /NUL character \(U\+0000\) at position 1/],
    ["half a surrogate pair", '{"content":"face \\ud83d"}', "content", /half of a surrogate pair/],
    ["no content", {}, "content", /is missing/],
    ["a number", { content: 5 }, "content", /must be a string/],
    ["null", { content: null }, "content", /must be a string/],
    ["a field that is not known", { content: "x", version: 3 }, "version", /not a known field/],
    ["a list", [{ content: "x" }], "body", /./],
  ])("a section with %s", async (_name, body, field, says) => {
    await expectInvalid(service.put("ada", "goals", body), field, says);
  });

  test("a body that is no JSON, or none", async () => {
    for (const body of ["{", '{"content":"x"', "", '"x"'])
      expect(await service.put("ada", "goals", body)).toMatchObject({ status: 400, json: { error: { code: "invalid_request" } } });
    const text = await service.put("ada", "goals", "content=x", { "content-type": "application/x-www-form-urlencoded" });
    expect(text.status).toBeGreaterThanOrEqual(400);
    expect(await service.contents("ada")).toEqual({ goals: "kept" });
  });

  test.each<[string, unknown, string]>([
    ["no version", {}, "version"],
    ["version 0", { version: 0 }, "version"],
    ["a version that is no number", { version: "1" }, "version"],
    ["a version that is not whole", { version: 1.5 }, "version"],
    ["a version that is far too high", { version: 1e12 }, "version"],
    ["another field", { version: 1, content: "x" }, "content"],
  ])("a revert with %s", async (_name, body, field) => {
    await expectInvalid(service.revert("ada", "goals", body), field);
  });

  test.each(["unknown", "Goals", "goals%00", "%F0%9F%98%80", "..%2Fgoals", "x".repeat(4_000), "__proto__"])(
    "the section %s, which there is not, whatever is done with it",
    async (name) => {
      await expectInvalid(service.put("ada", name, { content: "x" }), "section", /is not one of profile, preferences, goals, .*hobbies/);
      await expectInvalid(service.revert("ada", name, { version: 1 }), "section");
      if (name === "unknown") return expect((await service.remove("ada", name)).status).toBe(404); // it could have been configured
      await expectInvalid(service.remove("ada", name), "section");
      await expectInvalid(service.history("ada", name), "section");
    },
  );

  test("a section whose name is broken percent encoding", async () => {
    const { status, text } = await service.put("ada", "%zz", { content: "x" });
    expect({ status, text }).toMatchObject({ status: 400, text: expect.stringMatching(/"error"/) });
    expect(text).not.toMatch(/node_modules|URIError|decode/);
  });

  test.each([
    ["limit=0", "limit"],
    ["limit=201", "limit"],
    ["limit=x", "limit"],
    ["after=rubbish", "after"],
    ["limit=1&limit=2", "limit"],
  ])("a history or a list of operations with %s", async (query, field) => {
    await expectInvalid(service.history("ada", "goals", `?${query}`), field);
    await expectInvalid(service.operations("ada", `?${query}`), field);
  });

  test("a history behind version 0, operations of what is no message", async () => {
    await expectInvalid(service.history("ada", "goals", "?after=0"), "after");
    await expectInvalid(service.operations("ada", "?trigger_message_id=x"), "trigger_message_id");
  });

  test.each(["%00", "x".repeat(201)])("the user id %s", async (userId) => {
    for (const path of ["core-memory", "memory-operations", "core-memory/goals/history"]) {
      await expectInvalid(callApi<ErrorBody>(`${service.url}/api/v1/users/${userId}/${path}`), "user_id");
    }
  });
});

test("a section that is no longer configured is shown and can be removed, but not written", async () => {
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
