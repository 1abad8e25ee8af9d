import { expect, test } from "@jest/globals";
import type { Response } from "openai/resources/responses/responses";
import { callApi } from "../../../support/clients/api-client.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";
import { MODEL, openClient } from "../open-client.ts";

const running = useServiceWithModel();

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

test("Codex is answered as it comes: functions of namespaces are called by their names there, and other tools are left out", async () => {
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

test("a turn tells which tools of its request are left out", async () => {
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
