import { describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { TurnResult } from "../../../../turn/events.ts";
import { callApi, type ErrorBody, type ListedMessage, postJson, putJson } from "../../../support/clients/api-client.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";

const database = useTestPostgres();
const opened = useServiceWithModel({
  get DATABASE_URL() {
    return database.url;
  },
});

interface Branch {
  id: string;
  parent_id: string | null;
  origin: string | null;
  message_count: number;
  active: boolean;
}
type Listed = ListedMessage & { versions?: { index: number; count: number; message_ids: string[] } };

const api = (path: string): string => `${opened.url}/api/v1/${path}`;

/** A conversation of ada: each turn answers with the given words. */
function talk(sessionId = uuidv7()) {
  const ask = (fields: object) => ({ user_id: "ada", session_id: sessionId, ...fields });
  const send = (fields: object, headers: Record<string, string> = {}) =>
    postJson<TurnResult & ErrorBody>(api("chat"), ask(fields), headers);
  async function say(fields: object, answer: string, headers: Record<string, string> = {}): Promise<TurnResult> {
    opened.model.answer({ tokens: [answer] });
    const { status, json, text } = await send(fields, headers);
    expect({ status, text }).toMatchObject({ status: 200 });
    return json;
  }
  return { ask, send, say };
}

const list = async (id: string, query = ""): Promise<Listed[]> =>
  (await callApi<{ messages: Listed[] }>(api(`conversations/${id}/messages?limit=200${query}`))).json.messages;
const contents = async (id: string, query = ""): Promise<string[]> => (await list(id, query)).map(({ content }) => content);
const branchesOf = async (id: string): Promise<Branch[]> =>
  (await callApi<{ branches: Branch[] }>(api(`conversations/${id}/branches`))).json.branches;
const activate = (id: string, branchId: string) => putJson(api(`conversations/${id}/active-branch`), { branch_id: branchId });
const IN_USE = { status: 409, code: "branch_in_use" };
const lastPrompt = (): string => JSON.stringify(opened.model.seen.filter(({ body }) => body.stream).at(-1)?.body.messages);

test("an edited question and all after it leave the path and the prompt, and a switch of branches brings them back", async () => {
  const { say } = talk();
  const { conversation_id: id } = await say({ message: "Hello there" }, "Hi.");
  await say({ message: "My boat is the Argo" }, "Noted.");
  await say({ message: "It is blue" }, "Nice.");
  const question = (await list(id))[2];
  const edited = await say({ message: "My boat is the Calypso", edit_of: question?.id }, "Noted again.");
  expect(edited.conversation_id).toBe(id);
  expect(lastPrompt()).toContain("Hello there");
  expect(lastPrompt()).not.toMatch(/Argo|blue/);
  expect(await contents(id)).toEqual(["Hello there", "Hi.", "My boat is the Calypso", "Noted again."]);
  const shown = (await list(id))[2];
  expect(shown?.versions).toEqual({ index: 1, count: 2, message_ids: [question?.id, shown?.id] });
  const branches = await branchesOf(id);
  expect(branches).toMatchObject([
    { id, parent_id: null, origin: null, message_count: 6, active: false },
    { parent_id: id, origin: "edit", message_count: 4, active: true },
  ]);
  expect(await contents(id, `&branch_id=${id}`)).toHaveLength(6);
  expect((await activate(id, id)).status).toBe(200);
  await say({ message: "And now?" }, "Now.");
  expect(lastPrompt()).toMatch(/Argo.*blue/);
  expect(lastPrompt()).not.toContain("Calypso");
});

test("a switch to a message's version chooses the branch with this version that was shown last", async () => {
  const { say } = talk();
  const first = await say({ message: "Name a colour" }, "Red.");
  const id = first.conversation_id;
  const green = await say({ message: "Name a dark colour", edit_of: (await list(id))[0]?.id }, "Green.");
  await say({ regenerate: green.message_id }, "Brown.");
  const switchTo = (messageId: unknown) => putJson<ErrorBody>(api(`conversations/${id}/active-branch`), { message_id: messageId });
  expect((await switchTo(first.message_id)).status).toBe(200);
  const [original, edited] = (await list(id))[0]?.versions?.message_ids ?? [];
  expect(await contents(id)).toEqual(["Name a colour", "Red."]);
  expect((await switchTo(edited)).status).toBe(200);
  expect(await contents(id)).toEqual(["Name a dark colour", "Brown."]);
  expect((await switchTo(green.message_id)).status).toBe(200);
  expect(await contents(id)).toEqual(["Name a dark colour", "Green."]);
  expect((await switchTo(edited)).status).toBe(200);
  expect(await contents(id)).toEqual(["Name a dark colour", "Green."]);
  expect((await switchTo(original)).status).toBe(200);
  expect((await switchTo(uuidv7())).status).toBe(404);
  for (const body of [{}, { branch_id: id, message_id: original }])
    expect((await putJson(api(`conversations/${id}/active-branch`), body)).status).toBe(400);
  expect(await contents(id)).toEqual(["Name a colour", "Red."]);
});

test("a repeated answer answers the same question, which stands once in the prompt", async () => {
  const { say } = talk();
  const first = await say({ message: "Name a colour" }, "Red.");
  const again = await say({ regenerate: first.message_id }, "Green.");
  expect(again.conversation_id).toBe(first.conversation_id);
  expect(lastPrompt().split("Name a colour")).toHaveLength(2);
  expect(lastPrompt()).not.toContain("Red.");
  const messages = await list(first.conversation_id);
  expect(messages.map(({ content }) => content)).toEqual(["Name a colour", "Green."]);
  expect(messages[1]).toMatchObject({ id: again.message_id, versions: { index: 1, message_ids: [first.message_id, again.message_id] } });
  expect(messages[0]?.versions).toBeUndefined();
});

test("an answer that was cut off can be repeated, and a failed repeat keeps the old answer on another branch", async () => {
  const { say, send } = talk();
  opened.model.answer({ tokens: ["Half an"], ending: "cut" });
  await send({ message: "Tell me" });
  const conversations = await callApi<{ conversations: { id: string; session_id: string }[] }>(api("conversations?user_id=ada&limit=200"));
  const id = conversations.json.conversations[0]?.id ?? "";
  const cut = (await list(id)).at(-1);
  expect(cut).toMatchObject({ content: "Half an", completed: false });
  await say({ regenerate: cut?.id }, "A whole answer.");
  expect(await contents(id)).toEqual(["Tell me", "A whole answer."]);
  const whole = (await list(id)).at(-1);
  opened.model.answer({ status: 500 });
  expect((await send({ regenerate: whole?.id })).status).toBeGreaterThanOrEqual(500);
  expect(await contents(id)).toEqual(["Tell me"]);
  const answers = { other_answers: [cut?.id, whole?.id] };
  expect(await list(id)).toMatchObject([answers]);
  await say({ message: "Then something else" }, "Gladly.");
  expect((await list(id))[0]).toMatchObject(answers);
  expect((await putJson(api(`conversations/${id}/active-branch`), { message_id: whole?.id })).status).toBe(200);
  const [asked, again] = await list(id);
  expect(asked).not.toHaveProperty("other_answers");
  expect(again).toMatchObject({ content: "A whole answer.", versions: { index: 1, message_ids: answers.other_answers } });
});

test("two requests with the same key are one turn, and begin one branch", async () => {
  const { say, send } = talk();
  const first = await say({ message: "Name a colour" }, "Red.");
  const key = { "idempotency-key": uuidv7() };
  const again = await say({ regenerate: first.message_id }, "Green.", key);
  expect((await send({ regenerate: first.message_id }, key)).json.message_id).toBe(again.message_id);
  expect(await branchesOf(first.conversation_id)).toHaveLength(2);
  expect((await send({ message: "another body" }, key)).status).toBe(422);
});

test("a branch is erased with its own messages, and the conversation keeps only its other messages", async () => {
  const { say } = talk();
  const { conversation_id: id, message_id } = await say({ message: "one" }, "1");
  const question = (await list(id))[0];
  await say({ message: "two", edit_of: question?.id }, "2");
  const again = (await list(id))[1];
  await say({ regenerate: again?.id }, "3");
  const [first, second, third] = await branchesOf(id);
  const remove = (branch: Branch | undefined, query = "") =>
    callApi(api(`conversations/${id}/branches/${branch?.id}${query}`), { method: "DELETE" });
  expectRefusal(await remove(third), IN_USE);
  expectRefusal(await remove(second), IN_USE);
  await activate(id, second?.id ?? "");
  expect((await remove(third)).json).toMatchObject({ erased: { messages: 1 } });
  expectRefusal(await remove(third), { status: 404, code: "not_found" });
  expectRefusal(await remove(second, "?children=true"), IN_USE);
  await activate(id, first?.id ?? "");
  expect((await remove(second)).json).toMatchObject({ erased: { messages: 2 } });
  expect(await branchesOf(id)).toMatchObject([{ id, message_count: 2, active: true }]);
  expect((await list(id)).map(({ content, versions }) => ({ content, versions }))).toEqual([{ content: "one" }, { content: "1" }]);
  expectRefusal(await remove(first), IN_USE);
  await say({ regenerate: message_id }, "4");
  expect(await contents(id)).toEqual(["one", "4"]);
});

test("a snapshot is restored on a new branch, and is deleted with the branch that it belongs to", async () => {
  const { say } = talk();
  const { conversation_id: id } = await say({ message: "one" }, "1");
  const second = await say({ message: "two" }, "2");
  const path = (rest = ""): string => api(`conversations/${id}/snapshots${rest}`);
  const made = await postJson<{ id: string }>(path(), { label: "before three 之前" });
  expect(made).toMatchObject({ status: 201, json: { label: "before three 之前", branch_id: id, message_id: second.message_id } });
  await say({ message: "three" }, "3");
  const restored = await postJson<{ branches: object[] }>(path(`/${made.json.id}/restore`), {});
  expect(restored.json.branches).toMatchObject([
    { active: false },
    { origin: "restore", label: "before three 之前", active: true, message_count: 4 },
  ]);
  expect(await contents(id)).toEqual(["one", "1", "two", "2"]);
  await say({ message: "another three" }, "4");
  expect((await list(id))[4]?.versions).toMatchObject({ index: 1, count: 2 });
  const here = await postJson<{ id: string }>(path(), { label: "here" });
  expect((await callApi<{ snapshots: object[] }>(path())).json.snapshots).toHaveLength(2);
  await activate(id, id);
  await callApi(api(`conversations/${id}/branches/${(await branchesOf(id))[1]?.id}`), { method: "DELETE" });
  expectRefusal(await postJson(path(`/${here.json.id}/restore`), {}), { status: 404, code: "not_found" });
  expect((await callApi(path(`/${made.json.id}`), { method: "DELETE" })).json).toEqual({ deleted: true });
  expectRefusal(await callApi(path(`/${made.json.id}`), { method: "DELETE" }), { status: 404, code: "not_found" });
  expect((await postJson(path(), { label: " " })).status).toBe(400);
});

describe("the service refuses", () => {
  test.each([
    ["a message beside regenerate", (answer: string) => ({ regenerate: answer, message: "x" }), 400, "message"],
    ["an edit beside regenerate", (answer: string) => ({ regenerate: answer, edit_of: answer }), 400, "edit_of"],
    ["an edit without a message", (answer: string) => ({ edit_of: answer }), 400, "message"],
    ["an edit of an answer", (answer: string) => ({ edit_of: answer, message: "x" }), 400, "edit_of"],
    ["an id that is no UUID", () => ({ edit_of: "x", message: "x" }), 400, "edit_of"],
    ["an answer that does not exist", () => ({ regenerate: uuidv7() }), 404, "regenerate"],
    ["a message that does not exist", () => ({ edit_of: uuidv7(), message: "x" }), 404, "edit_of"],
    [
      "a message of another user",
      (_answer: string, question: string) => ({ user_id: "eve", edit_of: question, message: "x" }),
      404,
      "edit_of",
    ],
  ])("a request with %s", async (_what, fields, status, field) => {
    const { say, ask } = talk();
    const { conversation_id: id, message_id } = await say({ message: "one" }, "1");
    const question = (await list(id))[0]?.id ?? "";
    const body = ask(fields(message_id, question));
    for (const path of ["chat", "chat/stream"]) {
      const refused = await postJson(api(path), body);
      expect(refused.status).toBe(status);
      expect(refused.json.error.details?.[0]?.field).toBe(field);
    }
    expect(await contents(id)).toEqual(["one", "1"]);
  });

  test.each([
    ["a branch that does not exist", () => ({ branch_id: uuidv7() }), 404],
    ["no branch", () => ({}), 400],
    ["an id that is no UUID", () => ({ branch_id: "x" }), 400],
  ])("a switch to %s", async (_what, body, status) => {
    const { conversation_id: id } = await talk().say({ message: "one" }, "1");
    expect((await putJson(api(`conversations/${id}/active-branch`), body())).status).toBe(status);
    expect((await callApi(api(`conversations/${id}/messages?branch_id=${uuidv7()}`))).status).toBe(404);
  });
});
