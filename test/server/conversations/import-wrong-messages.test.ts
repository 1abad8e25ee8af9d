import { describe, expect, test } from "@jest/globals";
import { listConversations } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openServiceWithEpisodes } from "../../support/services/service-with-episodes.ts";
import { useOpened } from "../../support/use-opened.ts";

const ACME = { authorization: "Bearer acme-key-1" };

describe("an import with wrong messages", () => {
  const running = useOpened(() => openServiceWithEpisodes({ API_KEYS: "acme-key-1:acme", MAX_MESSAGE_CHARS: "1000" }));

  const body = (messages: unknown, fields: object = {}): object => {
    return { user_id: "ada", session_id: crypto.randomUUID(), messages, ...fields };
  };
  const one = (fields: object = {}): object => ({ role: "user", content: "hello", ...fields });
  const sessionsOf = async (userId: string): Promise<string[]> =>
    (await listConversations(running.url, userId, ACME)).map(({ session_id }) => session_id);

  test.each<[string, object, string]>([
    ["no user_id", { session_id: "s", messages: [one()] }, "user_id"],
    ["an empty session_id", body([one()], { session_id: "" }), "session_id"],
    ["no messages", body(undefined), "messages"],
    ["messages that are no list", body({ 0: one() }), "messages"],
    ["an empty list", body([]), "messages"],
    ["a message that is text", body([one(), "hello"]), "messages.1"],
    ["null for a message", body([null]), "messages.0"],
    ["a role that is none", body([one(), one({ role: "system" })]), "messages.1.role"],
    ["blank content", body([one(), one(), one(), one({ content: " \n\t" })]), "messages.3.content"],
    ["content that is no text", body([one({ content: [{ type: "text", text: "x" }] })]), "messages.0.content"],
    ["content with a NUL", body([one({ content: "a\0b" })]), "messages.0.content"],
    ["half a surrogate pair", body([one({ content: "a\ud83d" })]), "messages.0.content"],
    ["content that is far too long", body([one({ content: "x".repeat(2_001) })]), "messages.0.content"],
    ["a time that is none", body([one({ created_at: "yesterday" })]), "messages.0.created_at"],
    ["a day that is none", body([one({ created_at: "2024-02-30T12:00:00Z" })]), "messages.0.created_at"],
    ["a time without a zone", body([one({ created_at: "2024-02-03T12:00:00" })]), "messages.0.created_at"],
    ["a number for a time", body([one({ created_at: 1_706_702_400 })]), "messages.0.created_at"],
    ["metadata that is a list", body([one({ metadata: ["x"] })]), "messages.0.metadata"],
    ["metadata with a NUL", body([one({ metadata: { note: "a\0b" } })]), "messages.0.metadata"],
    ["metadata that is too long", body([one({ metadata: { note: "x".repeat(16_000) } })]), "messages.0.metadata"],
    ["an external id that is no text", body([one({ metadata: { external_id: 7 } })]), "messages.0.metadata"],
    ["an unknown field of the body", body([one()], { tenant_id: "bolt" }), "tenant_id"],
    ["an unknown field of a message", body([one(), one({ name: "Ada" })]), "messages.1.name"],
  ])("refuses %s, names the field and stores nothing of the whole request", async (_name, wrong, field) => {
    const before = await sessionsOf("ada");
    expectRefusal(await running.send(wrong, ACME), { status: 400, code: "invalid_request", field });
    expect(await sessionsOf("ada")).toEqual(before);
  });

  test.each(["0000-06-01T12:00:00Z", "0999-12-31T23:59:59Z", "9000-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00"])(
    "refuses a time that cannot be kept or counted on from: %s",
    async (created_at) => {
      const refused = await running.send(body([one({ created_at })]), ACME);
      expectRefusal(refused, { status: 400, code: "invalid_request", field: "messages.0.created_at", says: /years/ });
    },
  );

  test("refuses a time more than a day ahead, and takes one that a wrong time zone makes", async () => {
    const ahead = (hours: number): string => new Date(Date.now() + hours * 60 * 60 * 1_000).toISOString();
    const refused = await running.send(body([one(), one({ created_at: ahead(25) })]), ACME);
    expectRefusal(refused, { status: 400, code: "invalid_request", field: "messages.1.created_at", says: /a day ahead/ });
    expect((await running.send(body([one({ created_at: ahead(23) })]), ACME)).status).toBe(200);
  });

  test("names each wrong message by its index, however many there are", async () => {
    const wrong = Array.from({ length: 80 }, () => one({ content: "x".repeat(1_001) }));
    const { status, json } = await running.send(body([one(), ...wrong, one({ role: "system", content: " " })]), ACME);
    const { details } = (json as unknown as { error: { details: { index: number; field: string; problem: string }[] } }).error;
    expect(status).toBe(400);
    expect(details.map(({ index, field }) => [index, field])).toEqual([
      ...wrong.map((_, number) => [number + 1, `messages.${number + 1}.content`]),
      [81, "messages.81.role"],
      [81, "messages.81.content"],
    ]);
    expect(details[0]?.problem).toMatch(/1001 characters, at most 1000/);
  });

  test("goes on without wrong messages when it is told to, and says which they are", async () => {
    const long = one({ role: "assistant", content: "x".repeat(1_001) });
    const messages = [one(), long, "hello", one({ role: "assistant", content: "Good day." })];
    const { json } = await running.send(body(messages, { on_invalid: "skip" }), ACME);
    expect(json).toEqual({
      conversation_id: expect.any(String),
      imported: 2,
      skipped: 0,
      exchanges: 1,
      invalid: [
        { index: 1, field: "messages.1.content", problem: expect.stringContaining("1001 characters") },
        { index: 2, field: "messages.2", problem: expect.stringContaining("object") },
      ],
    });
    const before = await sessionsOf("ada");
    const refusal = { status: 400, code: "invalid_request" };
    expectRefusal(await running.send(body(["hello"], { on_invalid: "skip" }), ACME), { ...refusal, field: "messages.0" });
    expectRefusal(await running.send(body([one()], { on_invalid: "leave" }), ACME), { ...refusal, field: "on_invalid" });
    expect(await sessionsOf("ada")).toEqual(before);
  });
});
