import { readFileSync } from "node:fs";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { callApi, listConversations, messagesOf } from "../../support/clients/api-client.ts";
import { useTestPostgres } from "../../support/databases/databases.ts";
import { tablesHolding } from "../../support/databases/scan-tables.ts";
import { conversationApi } from "../../support/services/service-with-episodes.ts";
import { openServiceWithModel } from "../../support/services/service-with-model.ts";
import { useOpened } from "../../support/use-opened.ts";
import { MODEL, openClient } from "./open-client.ts";

interface Recorded {
  story: string;
  chat: string;
  /** The first of 36. */
  tools?: never[];
  messages: never[];
}

/** What Open WebUI 0.12.4 sent while a person used it in a browser, shortened only where it repeats itself. */
const RECORDED = readFileSync(new URL("open-webui-requests.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Recorded);

describe("the requests of Open WebUI", () => {
  const database = useTestPostgres();
  const memory = { ENABLE_CORE_MEMORY: "true", ENABLE_EPISODIC_MEMORY: "true", EMBEDDING_MODEL: "built-in" };
  const running = useOpened(() => openServiceWithModel({ DATABASE_URL: database.url, ...memory }));
  beforeEach(() => running.model.answer({ tokens: ["at ", "seven"] }));

  async function replay(story: string, user: string) {
    const found = RECORDED.find((recorded) => recorded.story === story);
    if (!found) throw new Error(`nothing recorded is called ${story}`);
    const headers = { "X-OpenWebUI-User-Id": user, "X-OpenWebUI-Chat-Id": found.chat };
    const { messages, tools } = found;
    const asked = openClient(running.url, { headers }).chat.completions.stream({ model: MODEL, messages, ...(tools ? { tools } : {}) });
    const { choices, id } = await asked.finalChatCompletion();
    return { choice: choices[0], turnId: id.slice("chatcmpl-".length, "chatcmpl-".length + 36), bodies: running.model.seen };
  }
  const lastPrompt = () =>
    running.model.seen.findLast(({ body }) => body.tools?.[0]?.function.name === "get_current_timestamp")?.body.messages;
  const settle = async (user: string) => {
    for (const { id } of await listConversations(running.url, user)) await conversationApi(running.url).settle(id);
  };

  test("a file is shown to the model, named in the receipt, and is in no table, title, summary, episode or memory", async () => {
    const { turnId } = await replay("a file is attached", "ada");
    expect(lastPrompt()?.at(-1)?.content).toMatch(/\[note\.txt\]\n> The .* opens at seven on Sundays\.\n<\/attachments>\n\nWhen does the/);
    const { json } = await callApi<{ receipt: object }>(`${running.url}/api/v1/turns/${turnId}`);
    expect(json.receipt).toMatchObject({ attachments: [{ name: "note.txt" }] });
    // The front end sends a chat's files again with each message.
    await replay("the next message of that chat", "ada");
    expect(
      lastPrompt()
        ?.slice(1)
        .map(({ content }) => content),
    ).toEqual(["When does the lighthouse-canary open?", "at seven", expect.stringMatching(/on Sundays\.\n<\/attachments>\n\nThank you$/)]);
    await settle("ada");
    expect(await listConversations(running.url, "ada")).toMatchObject([
      { first_message: "When does the lighthouse-canary open?", message_count: 4 },
    ]);
    expect(await tablesHolding(database, "Sundays")).toEqual({});
    const others = running.model.seen.filter(({ body }) => body.tools?.[0]?.function.name !== "get_current_timestamp");
    expect(others.length).toBeGreaterThan(0);
    expect(JSON.stringify(others)).not.toContain("Sundays");
  });

  test("a tool that it runs goes on with the turn, and Continue Response goes on with its answer", async () => {
    const recorded = RECORDED.find(({ story }) => story === "Continue Response behind a tool")?.messages.at(-1);
    const answer = (recorded as { content: string } | undefined)?.content ?? "";
    running.model.answer(({ messages }) => {
      const { role } = messages.at(-1) ?? {};
      if (role === "user") return { toolCalls: [{ name: "get_current_timestamp", id: "call_913c2c16", arguments: {} }] };
      return { tokens: [role === "tool" ? answer : " It is nine."] };
    });
    expect((await replay("a tool may be called", "bob")).choice).toMatchObject({ finish_reason: "tool_calls" });
    const { choice } = await replay("the result of a tool", "bob");
    expect(choice).toMatchObject({ finish_reason: "stop", message: { content: answer } });
    expect(lastPrompt()?.at(-1)).toMatchObject({ role: "tool", content: expect.stringContaining("2026-11-25T09:07:00") });
    const continued = await replay("Continue Response behind a tool", "bob");
    expect(continued.choice).toMatchObject({ finish_reason: "stop", message: { content: " It is nine." } });
    expect((await messagesOf(running.url, "bob", "6a0e5f33")).map(({ content }) => content)).toEqual([
      "What time is it?",
      `${answer} It is nine.`,
    ]);
  });

  test("a temporary chat knows what is remembered and what was said in it, and leaves nothing", async () => {
    await replay("a temporary chat", "eve");
    running.model.answer({ tokens: ["as ", "you ", "say"] });
    expect((await replay("the next message of a temporary chat", "eve")).choice?.message.content).toBe("as you say");
    expect(lastPrompt()?.slice(1)).toMatchObject([
      { role: "user", content: expect.stringMatching(/> User: A secret: I like durian\n> Assistant: hush\n<\/attachments>\n\nAnd more$/) },
    ]);
    expect(await listConversations(running.url, "eve")).toEqual([]);
    expect(await tablesHolding(database, "durian")).toEqual({});
  });

  test("its wish for follow-ups is no message", async () => {
    await replay("follow-ups", "sam");
    expect(await listConversations(running.url, "sam")).toEqual([]);
  });
});
