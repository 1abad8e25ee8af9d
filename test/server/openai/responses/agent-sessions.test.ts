import { beforeEach, describe, expect, test } from "@jest/globals";
import type { ItemCreateParams } from "openai/resources/conversations/items";
import type { ResponseCreateParamsNonStreaming, ResponseOutputItem } from "openai/resources/responses/responses";
import { callApi, listConversations } from "../../../support/clients/api-client.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";
import { failureOf, MODEL, openClient, says } from "../open-client.ts";

type Item = ItemCreateParams["items"][number];

/** OpenAIConversationsSession of OpenAI's agents SDK, as its requests look on the wire: ids of answers are left out. */
describe.each(["npm", "PyPI"] as const)("a session of the agents SDK of %s", (registry) => {
  const running = useServiceWithModel();
  let user = "";
  let count = 0;
  beforeEach(() => {
    user = `${registry}-${count++}`;
    running.model.answer(({ messages }) => ({ tokens: [`Answer to ${messages.at(-1)?.content}`] }));
  });
  const client = () => openClient(running.url, { headers: { "X-User-Id": user } });
  const withoutId = (item: { id?: string | undefined }): Item => ({ ...item, id: undefined }) as object as Item;

  async function listed(conversation: string) {
    const items: { id: string; role: string; text: string }[] = [];
    for await (const item of client().conversations.items.list(conversation, { order: "asc" })) {
      if (item.type !== "message") continue;
      items.push({ id: item.id, role: item.role, text: item.content.map((part) => ("text" in part ? part.text : "")).join("") });
    }
    return items;
  }

  /** One run: the history of the session and what is new go to the model; what is new is added to the session. */
  async function run(conversation: string, text: string, calls: Item[] = []): Promise<ResponseOutputItem[]> {
    const { conversations, responses } = client();
    const history: Item[] = [];
    for await (const item of conversations.items.list(conversation, { order: "asc" }))
      history.push(item.type === "message" && item.role === "assistant" ? withoutId(item) : (item as Item));
    const add = async (items: Item[]) => items.length > 0 && conversations.items.create(conversation, { items });
    if (registry === "PyPI") await add([says(text)]);
    const input = [...history, says(text)];
    const { output } = await responses.create({ model: MODEL, input } as ResponseCreateParamsNonStreaming);
    if (registry === "PyPI") await add(calls);
    await add([...(registry === "npm" ? [says(text), ...calls] : []), ...output.map(withoutId)]);
    return output;
  }

  test("has each exchange once, even the first one", async () => {
    const { id } = await client().conversations.create({ items: [] });
    const first = await run(id, "hello");
    await run(id, "how are you?", [
      { type: "reasoning", id: "rs_1", summary: [] },
      { type: "function_call", call_id: "call_1", name: "weather", arguments: "{}" },
      { type: "function_call_output", call_id: "call_1", output: "sunny" },
    ]);
    const items = await listed(id);
    expect(items.map(({ role, text }) => [role, text])).toEqual([
      ["user", "hello"],
      ["assistant", "Answer to hello"],
      ["user", "how are you?"],
      ["assistant", "Answer to how are you?"],
    ]);
    expect(items[1]?.id).toBe(first[0]?.id);
    expect(await listConversations(running.url, user)).toHaveLength(1);
    expect((await client().conversations.retrieve(id)).id).toBe(id);
    const { json } = await callApi<{ branches: object[] }>(
      `${running.url}/api/v1/conversations/${(await listConversations(running.url, user))[0]?.id}/branches?user_id=${user}`,
    );
    expect(json.branches).toHaveLength(1);
  });

  test("removes its items from the end, and goes on before them", async () => {
    const { items, retrieve } = { items: client().conversations.items, retrieve: client().conversations };
    const { id } = await client().conversations.create({ items: [] });
    await run(id, "one");
    await run(id, "two");
    const [, answer, second, last] = await listed(id);
    const address = { conversation_id: id };
    expect(await failureOf(items.delete(answer?.id ?? "", address))).toMatchObject({ status: 400, param: "item" });
    expect(await items.retrieve(last?.id ?? "", address)).toMatchObject({ id: last?.id, role: "assistant" });
    expect(await items.delete(last?.id ?? "", address)).toMatchObject({ id, object: "conversation" });
    expect(await failureOf(items.retrieve(last?.id ?? "", address))).toMatchObject({ status: 404 });
    await items.delete(second?.id ?? "", address);
    expect((await listed(id)).map(({ text }) => text)).toEqual(["one", "Answer to one"]);
    await run(id, "three");
    expect((await listed(id)).map(({ text }) => text)).toEqual(["one", "Answer to one", "three", "Answer to three"]);
    expect(JSON.stringify(running.model.seen.at(-1)?.body.messages)).not.toContain("two");
    expect((await retrieve.retrieve(id)).id).toBe(id);
  });
});

describe("a conversation over OpenAI's protocol", () => {
  const running = useServiceWithModel();

  test("can change its metadata, and keeps an item that is added twice unless it was said here", async () => {
    const { conversations } = openClient(running.url, { headers: { "X-User-Id": "ada" } });
    const { id } = await conversations.create({ metadata: { of: "a test" } });
    expect(await conversations.update(id, { metadata: { of: "another" } })).toMatchObject({ id, metadata: { of: "another" } });
    expect(await conversations.retrieve(id)).toMatchObject({ metadata: { of: "another" } });
    for (let time = 0; time < 2; time++) await conversations.items.create(id, { items: [says("Ho")] });
    const { data } = await conversations.items.list(id);
    expect(data).toHaveLength(2);
    const known = { type: "message", role: "user", id: data[0]?.id, content: "Ho" } as Item;
    expect((await conversations.items.create(id, { items: [known] })).data).toEqual([data[0]]);
    expect((await conversations.items.list(id)).data).toHaveLength(2);
    const unknown = conversations.items.create(id, { items: [{ type: "computer_call" } as never] });
    expect(await failureOf(unknown)).toMatchObject({ status: 400, param: "items.0.type" });
    const others = openClient(running.url, { headers: { "X-User-Id": "eve" } }).conversations;
    expect(await failureOf(others.update(id, { metadata: {} }))).toMatchObject({ status: 404 });
    expect(await failureOf(others.items.delete(data[0]?.id ?? "", { conversation_id: id }))).toMatchObject({ status: 404 });
  });
});
