import { beforeEach, describe, expect, test } from "@jest/globals";
import type { ResponseCreateParamsNonStreaming, Response } from "openai/resources/responses/responses";
import { callApi, listConversations } from "../../../support/clients/api-client.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";
import { openTestService } from "../../../support/services/service.ts";
import { waitUntil } from "../../../support/wait-until.ts";
import { failureOf, MODEL, openClient, says } from "../open-client.ts";

const running = useServiceWithModel();
describe("stored responses", () => {
  beforeEach(() => running.model.answer({ tokens: ["Porto ", "is ", "lovely"] }));

  const client = () => openClient(running.url);
  const create = (fields: object) =>
    client().responses.create({ model: MODEL, user: "ada", input: "hello", ...fields } as ResponseCreateParamsNonStreaming);
  const prompt = () => running.model.seen.at(-1)?.body.messages ?? [];
  const conversationsOf = (user: string) => listConversations(running.url, user);

  test("in a conversation that a client made have its items", async () => {
    const { conversations } = client();
    const made = await conversations.create(
      { items: [{ type: "message", role: "user", content: "I like junipers" }], metadata: { of: "a test" } },
      { headers: { "X-User-Id": "iris" } },
    );
    expect(made).toMatchObject({ object: "conversation", metadata: { of: "a test" } });
    expect(await conversations.retrieve(made.id)).toEqual(made);
    const answered = await create({ user: "iris", conversation: made.id, input: [says("Hello"), says("Which tree?")] });
    expect(answered.conversation).toEqual({ id: made.id });
    expect(prompt().slice(1)).toEqual([says("I like junipers"), { role: "assistant", content: "(no answer)" }, says("Hello\nWhich tree?")]);
    expect(await client().responses.retrieve(answered.id)).toEqual(answered);
    const added = await conversations.items.create(made.id, {
      items: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "From elsewhere", annotations: [] }] as never }],
    });
    expect(added.data).toHaveLength(1);
    const listed: unknown[] = [];
    for await (const item of conversations.items.list(made.id, { order: "asc", limit: 2 })) listed.push(item);
    const content = (type: string, words: string) => expect.objectContaining({ content: [expect.objectContaining({ type, text: words })] });
    expect(listed).toEqual([
      content("input_text", "I like junipers"),
      content("input_text", "Hello\nWhich tree?"),
      content("output_text", "Porto is lovely"),
      content("output_text", "From elsewhere"),
    ]);
    expect((listed as { id: string }[])[2]?.id).toBe(answered.output[0]?.id);
    expect(await conversations.delete(made.id)).toMatchObject({ deleted: true });
    expect(await failureOf(conversations.retrieve(made.id))).toMatchObject({ status: 404, param: "conversation" });
    expect(await failureOf(create({ conversation: made.id }))).toMatchObject({ status: 404, param: "conversation" });
  });

  test("that are deleted lose their question, too", async () => {
    const first = await create({ user: "joan", input: "Forget this" });
    expect(await callApi(`${running.url}/v1/responses/${first.id}`, { method: "DELETE" })).toMatchObject({ status: 200 });
    expect(await failureOf(client().responses.retrieve(first.id))).toMatchObject({ status: 404 });
    expect(await conversationsOf("joan")).toMatchObject([{ message_count: 0 }]);
  });

  test("in the background can be read and cancelled by their id", async () => {
    const release = running.model.hold(["at ", "last"]);
    const begun = await create({ user: "kate", input: "Take your time", background: true });
    expect(begun).toMatchObject({ status: "in_progress", background: true, output: [] });
    expect((await client().responses.retrieve(begun.id)).status).toBe("in_progress");
    release();
    await waitUntil("the response", async () => (await client().responses.retrieve(begun.id)).status === "completed");
    expect(await client().responses.retrieve(begun.id)).toMatchObject({ output_text: "at last", background: true });

    running.model.answer({ tokens: Array.from({ length: 400 }, (_, index) => `word${index} `), betweenMs: 25 });
    const long = await create({ user: "kate", input: "Never end", background: true });
    const asked = running.model.seen.length;
    await running.model.untilAsked(asked);
    expect(await client().responses.cancel(long.id)).toMatchObject({ status: "cancelled" });
    expect(await client().responses.retrieve(long.id)).toMatchObject({ status: "cancelled" });
    expect(await failureOf(create({ background: true, store: false }))).toMatchObject({ status: 400, param: "background" });
  });

  test("need a key in a service with keys, and belong to their user alone", async () => {
    const service = await openTestService({ API_KEYS: "key-of-acme:acme,key-of-corp:corp" });
    const at = (apiKey: string) => openClient(service.url, { apiKey }).responses;
    const made = await at("key-of-acme").create({ model: MODEL, safety_identifier: "ada", input: "hello" });
    expect(await failureOf(at("wrong").retrieve(made.id))).toMatchObject({ status: 401 });
    expect(await failureOf(at("key-of-corp").retrieve(made.id))).toMatchObject({ status: 404 });
    expect(await failureOf(at("key-of-acme").retrieve(made.id, {}, { headers: { "X-User-Id": "bob" } }))).toMatchObject({ status: 404 });
    expect((await at("key-of-acme").retrieve(made.id)).id).toBe(made.id);
    expect(await failureOf(at("key-of-acme").create({ model: MODEL, input: "whose?" }))).toMatchObject({ status: 400, param: "user" });
    await service.close();
  });
});

const shell = {
  type: "function",
  name: "shell",
  description: "Runs a command.",
  strict: false,
  parameters: { type: "object", properties: { command: { type: "array", items: { type: "string" } } }, required: ["command"] },
};
const lookUp = { ...shell, name: "look_up", description: "Looks something up." };
/** As Codex CLI sends it: what it has of tools, most of which only OpenAI's server or Codex itself knows. */
const request = (input: object[]) => ({
  model: MODEL,
  user: "ada",
  instructions: "You are Codex.",
  input: [{ type: "message", role: "developer", content: [{ type: "input_text", text: "<permissions instructions>" }] }, ...input],
  tools: [
    shell,
    { type: "namespace", name: "mcp__docs__", description: "Documents.", tools: [lookUp, { type: "custom", name: "patch" }] },
    { type: "namespace", name: "web", description: "The web.", tools: [{ ...lookUp, name: "run" }] },
    { type: "web_search", external_web_access: false },
    { type: "local_shell" },
    { type: "custom", name: "apply_patch", format: { type: "grammar", syntax: "lark", definition: "start: x" } },
    { type: "tool_search", execution: "client", description: "Finds tools.", parameters: {} },
    { type: "image_generation", output_format: "png" },
  ],
  tool_choice: "auto",
  parallel_tool_calls: false,
  reasoning: { effort: "medium", summary: "auto" },
  store: false,
  include: ["reasoning.encrypted_content"],
  prompt_cache_key: "01a223ed",
  text: { verbosity: "low" },
});
const asked = { type: "message", role: "user", content: [{ type: "input_text", text: "Where is the manual?" }] };
async function ask(input: object[], fields: object = {}): Promise<Response> {
  const stream = openClient(running.url).responses.stream({ ...request(input), ...fields } as Parameters<
    ReturnType<typeof openClient>["responses"]["stream"]
  >[0]);
  return stream.finalResponse();
}
test("Codex can call functions by the names in their namespaces, and its other tools are left out", async () => {
  running.model.answer(({ messages }) =>
    messages.at(-1)?.role === "tool"
      ? { tokens: ["On the shelf."] }
      : { toolCalls: [{ name: "mcp__docs__look_up", id: "call_docs", arguments: { command: ["manual"] } }] },
  );
  const first = await ask([asked]);
  const sent = running.model.seen.at(-1)?.body;
  expect(sent?.tools?.map(({ function: { name } }) => name)).toEqual(["shell", "mcp__docs__look_up", "web__run"]);
  const [called] = first.output;
  expect(called).toMatchObject({ type: "function_call", namespace: "mcp__docs__", name: "look_up", call_id: "call_docs" });
  const result = { type: "function_call_output", call_id: "call_docs", output: "shelf 3" };
  const second = await ask([asked, called ?? {}, result]);
  expect(second.output_text).toBe("On the shelf.");
});
test("a turn reports which tools of its request are left out", async () => {
  running.model.answer({ tokens: ["Here."] });
  const { data, response } = await openClient(running.url)
    .responses.create({ model: MODEL, user: "ada", input: "Hi", tools: [{ type: "web_search" }, { type: "local_shell" }] })
    .withResponse();
  expect(data.output_text).toBe("Here.");
  expect(running.model.seen.at(-1)?.body.tools).toBeUndefined();
  const { json } = await callApi<object>(`${running.url}/api/v1/turns/${response.headers.get("x-turn-id")}?user_id=ada`);
  expect(json).toMatchObject({
    notices: [{ code: "tools_left_out", message: expect.stringMatching(/left out: web_search, local_shell/) }],
  });
});
