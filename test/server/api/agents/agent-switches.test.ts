import { tool } from "@langchain/core/tools";
import { describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { fromLangChainTool } from "../../../../agents/tool.ts";
import { postJson, putJson } from "../../../support/clients/api-client.ts";
import { calls, useAgentService } from "./agent-service.ts";

let [meeting, most] = [0, 0];
const meet = tool(
  async () => {
    most = Math.max(most, ++meeting);
    await new Promise((resolve) => setTimeout(resolve, 20));
    return String(meeting--);
  },
  { name: "meet", description: "Meets.", schema: z.object({ who: z.string() }) },
);
const { opened, follow, makeAgent, chats, ask } = useAgentService(
  {},
  { extras: { tools: [fromLangChainTool(meet, { onlyReads: true })] } },
);

describe("a turn with an agent's settings", () => {
  test("ends with an answer and a notice when its time is over", async () => {
    await makeAgent("slow", { tools: ["calculate"], limits: { timeout_s: 1 } });
    let round = 0;
    opened.model.answer(({ model, tools }) =>
      tools && model === "test-chat"
        ? { firstTokenMs: 400, toolCalls: [calls("calculate", { expression: `${round++}+1` })] }
        : { tokens: ["Enough."] },
    );
    const { of, done } = await ask("slow", "go on for ever");
    expect(done).toMatchObject({ answer: "Enough.", completed: true });
    expect(of("notice")).toMatchObject([{ code: "agent_limit", message: expect.stringContaining("1 seconds") }]);
  });

  test("runs at most as many calls at once as its agent may, and gives their results in the order of the calls", async () => {
    await makeAgent("host", { tools: ["meet"], limits: { parallel_tools: 2 } });
    const who = ["a", "b", "c", "d", "e"];
    follow(
      who.map((one) => calls("meet", { who: one }, one)),
      "All met.",
    );
    await ask("host", "meet them");
    expect(most).toBe(2);
    const results =
      chats()
        .at(-1)
        ?.body.messages.filter(({ role }) => role === "tool") ?? [];
    expect(results.map(({ tool_call_id }) => tool_call_id)).toEqual(who);
  });

  test("asks the model that its agent names, with and without tools", async () => {
    for (const tools of [["calculate"], []]) {
      await makeAgent("thrifty", { model: "test-memory", tools });
      opened.model.answer(({ model }) => ({ tokens: [`from ${model}`] }));
      const { done } = await ask("thrifty", "What do you think?");
      expect(done?.answer).toBe("from test-memory");
    }
  });

  test("asks the model with its agent's settings, and sees only the layers of memory that its agent has", async () => {
    const { url } = opened;
    const layers = { summary: "<conversation_summary>", episodic: "<earlier_exchanges>", core_memory: "<core_memory>" };
    for (const layer of Object.keys(layers))
      await makeAgent(`without-${layer.replace("_", "-")}`, {
        memory: { [layer]: false },
        temperature: 0.3,
        max_output_tokens: 77,
      });
    follow("Noted.");
    await putJson(`${url}/api/v1/users/eve/core-memory/goals`, { content: "Wants to sail." });
    const say = (session_id: string, message: string, agent?: string) =>
      postJson<{ conversation_id: string }>(`${url}/api/v1/chat`, { user_id: "eve", session_id, message, ...(agent ? { agent } : {}) });
    const settle = async (session: string, message: string) => {
      const { json } = await say(session, message);
      await postJson(`${url}/api/v1/conversations/${json.conversation_id}/settle`, undefined);
    };
    await settle("harbour", "The boat in the harbour is called Nautilus.");
    for (let turn = 1; turn <= 6; turn++) await settle("long", `We talk about the weather, part ${turn}.`);
    const promptFor = async (agent?: string) => {
      await say("long", "What is the boat in the harbour called?", agent);
      const { body } = chats().at(-1) ?? {};
      return { body, text: body?.messages.map(({ content }) => content).join("\n") ?? "" };
    };
    const whole = (await promptFor()).text;
    for (const [layer, tag] of Object.entries(layers)) {
      expect(whole).toContain(tag);
      const { body, text } = await promptFor(`without-${layer.replace("_", "-")}`);
      expect(text).not.toContain(tag);
      expect(body).toMatchObject({ temperature: 0.3, max_tokens: 77 });
    }
  });
});
