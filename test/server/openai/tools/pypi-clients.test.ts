import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeEach, expect, test } from "@jest/globals";
import { pythonEnvironment } from "../../../servers/python-environment.ts";
import { describeUnless } from "../../../support/describe-unless.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";

const PROGRAM = fileURLToPath(new URL("pypi_clients.py", import.meta.url));
const most = await pythonEnvironment(["openai==3.54.0", "pydantic-ai-slim[openai]==2.68.0", "openai-agents==0.24.0"]);
const ofLiteLLM = await pythonEnvironment(["litellm==1.106.2", "mcp"]); // it goes with other versions of the same packages
const SAID = "It is sunny in Porto and sunny in Lagos.";

describeUnless(most.missing ?? ofLiteLLM.missing, "clients of PyPI, as they are", () => {
  const running = useServiceWithModel();
  let calls = 0;
  beforeEach(() => {
    const cities = ["Porto", "Lagos"];
    running.model.answer((body) => {
      const names = body.tools?.map(({ function: { name } }) => name) ?? [];
      if (body.response_format) return { tokens: ['{"city":', '"Porto"}'] };
      const city = names.includes("weather") ? cities.shift() : undefined;
      const id = `call_py_${++calls}`;
      if (city !== undefined) return { toolCalls: [{ name: "weather", id, arguments: { city } }] };
      if (names.includes("final_result")) return { toolCalls: [{ name: "final_result", id, arguments: { city: "Porto" } }] };
      const said = body.messages.filter(({ role }) => role === "tool").map(({ content }) => /sunny in \w+/.exec(content)?.[0]);
      return { tokens: said.length > 0 ? [`It is ${said.join(" and ")}.`] : ["Hello ", "there"] };
    });
  });

  const STORIES: [what: string, story: string, expected: unknown][] = [
    ["openai chats, whole and streamed", "chat", ["Hello there", "Hello there"]],
    ["openai parses by pydantic, in both APIs", "parse", ["Porto", "Porto"]],
    ["openai streams responses and goes on with them", "responses", ["response.created", "Hello there", "Hello there"]],
    ["pydantic-ai calls tools, by chat", "pydantic_ai:chat", SAID],
    ["pydantic-ai calls tools, by responses", "pydantic_ai:responses", SAID],
    ["pydantic-ai extracts by forced calls, which lock nothing", "extract", ["Porto", "Porto"]],
    ["openai-agents calls tools, by chat", "agents:chat", SAID],
    ["openai-agents calls tools, by responses", "agents:responses", SAID],
    ["litellm chats, whole and streamed", "litellm", ["Hello there", "Hello there"]],
  ];
  test.each(STORIES)(
    "%s",
    async (_what, story, expected) => {
      const { python } = story === "litellm" ? ofLiteLLM : most;
      const { stdout } = await promisify(execFile)(python, [PROGRAM, `${running.url}/v1`, story]);
      expect(JSON.parse(stdout)).toEqual(expected);
    },
    60_000,
  );
});
