import { describe, expect, test } from "@jest/globals";
import { callApi, postJson } from "../../../support/clients/api-client.ts";
import { calls, useAgentService } from "./agent-service.ts";

const { opened, follow, makeAgent, ask } = useAgentService({ WEB_FETCH: "true" });

describe("an agent with built-in tools", () => {
  test("saves and finds memories of its user, and shows its plan", async () => {
    await makeAgent("keeper", { tools: ["memory_*", "core_memory_update", "todo_write"] });
    const items = [{ content: "Remember", status: "in_progress" }];
    follow(
      [calls("todo_write", { items }, "a"), calls("memory_save", { content: "The boat is called Nautilus.", importance: 0.9 }, "b")],
      [calls("core_memory_update", { section: "goals", content: "Wants to sail round the world." }, "c")],
      "Kept.",
    );
    const { of, done } = await ask("keeper", "remember my boat");
    expect(of("plan")).toEqual([{ items }]);
    expect(of("tool_result").every(({ ok }) => ok)).toBe(true);
    await postJson(`${opened.url}/api/v1/conversations/${done?.conversation_id}/settle`, undefined);
    follow([calls("memory_search", { query: "What is the boat called?" })], "Nautilus.");
    const found = await ask("keeper", "What is my boat called?");
    expect(found.of("tool_result")[0]?.output).toContain("The boat is called Nautilus.");
    const { json } = await callApi<{ sections: { section: string; content: string; updated_by: string }[] }>(
      `${opened.url}/api/v1/users/ada/core-memory`,
    );
    expect(json.sections).toContainEqual(
      expect.objectContaining({ section: "goals", content: "Wants to sail round the world.", updated_by: "agent" }),
    );
  });

  test("finds messages of its user, and of nobody else, by their words", async () => {
    await makeAgent("finder", { tools: ["conversation_search"] });
    const say = async (user_id: string, message: string): Promise<string> => {
      const body = { user_id, session_id: message, message };
      return (await postJson<{ conversation_id: string }>(`${opened.url}/api/v1/chat`, body)).json.conversation_id;
    };
    follow("Noted.");
    const said = [await say("ada", "My bicycle is green"), await say("ada", "我的自行车在车库里"), await say("bob", "My bicycle is red")];
    for (const id of said) await postJson(`${opened.url}/api/v1/conversations/${id}/settle`, undefined);
    const search = async (query: string) => {
      follow([calls("conversation_search", { query })], "Found.");
      return (await ask("finder", "What did I say?")).of("tool_result")[0]?.output ?? "";
    };
    const day = new Date().toISOString().slice(0, 10);
    expect(await search("bicycles green")).toBe(`[${day}, conversation ${said[0]}, user]\nMy bicycle is green`);
    expect(await search("bicycle")).not.toContain("red");
    expect(await search("自行车")).toContain("我的自行车在车库里");
    expect(await search("bicycle submarine")).toContain("No message has all these words");
  });

  test("reads no page of this machine", async () => {
    await makeAgent("reader", { tools: ["web_fetch"] });
    follow([calls("web_fetch", { url: `${opened.url}/healthz` })], "Not allowed.");
    const { of } = await ask("reader", "Read it.");
    expect(of("tool_result")[0]).toMatchObject({ ok: false, output: expect.stringContaining("address_refused") });
  });
});
