import { createOpenAI } from "@ai-sdk/openai";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { tool as langChainTool } from "@langchain/core/tools";
import { HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { zodFunction, zodResponsesFunction, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import type { ScriptedToolCall } from "../../../servers/model-server.ts";
import { listConversations } from "../../../support/clients/api-client.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";
import { MODEL, openClient, says } from "../open-client.ts";

const City = z.object({ city: z.string() });

describe("clients of npm, as they are", () => {
  const running = useServiceWithModel();
  let calls = 0;
  beforeEach(() => running.model.answer({ tokens: ["Hello ", "there"] }));

  const call = (city: string): ScriptedToolCall => ({ name: "weather", id: `call_npm_${++calls}`, arguments: { city } });
  /** The model asks for the weather of each city, one after the other, and then says what it was told. */
  function script(...cities: string[]): void {
    const waiting = [...cities];
    running.model.answer((body) => {
      const city = waiting.shift();
      if (city !== undefined) return { toolCalls: [call(city)] };
      const said = body.messages.filter(({ role }) => role === "tool").map(({ content }) => /sunny in \w+/.exec(content)?.[0]);
      return { tokens: [`It is ${said.join(" and ")}.`] };
    });
  }
  const SAID = "It is sunny in Porto and sunny in Lagos.";
  const weather = tool({ description: "The weather", inputSchema: City, execute: ({ city }) => Promise.resolve(`sunny in ${city}`) });
  const provider = (user: string) => createOpenAI({ baseURL: `${running.url}/v1`, apiKey: "none", headers: { "X-User-Id": user } });

  test.each(["chat", "responses"] as const)("the AI SDK calls tools in several steps, by %s, whole and streamed", async (api) => {
    const model = provider(`ai-${api}`)[api](MODEL);
    const request = { model, tools: { weather }, stopWhen: stepCountIs(5) };
    script("Porto", "Lagos");
    const { text, steps } = await generateText({ ...request, prompt: "Compare them" });
    expect({ text, steps: steps.length }).toEqual({ text: SAID, steps: 3 });
    script("Porto", "Lagos");
    const streamed = streamText({ ...request, prompt: "Compare them again" });
    expect(await streamed.text).toBe(SAID);
    expect((await streamed.steps).flatMap(({ toolCalls }) => toolCalls.map(({ input }) => input))).toEqual([
      { city: "Porto" },
      { city: "Lagos" },
    ]);
    const listed = await listConversations(running.url, `ai-${api}`);
    expect(listed.map(({ message_count }) => message_count)).toEqual([2, 2]);
  });

  test("LangChain binds tools, hands results back, and gets structured output by a forced call", async () => {
    const model = new ChatOpenAI({ model: MODEL, apiKey: "none", configuration: { baseURL: `${running.url}/v1` }, user: "lang" });
    const bound = model.bindTools([
      langChainTool(({ city }) => `sunny in ${city}`, { name: "weather", description: "The weather", schema: City }),
    ]);
    script("Porto", "Lagos");
    const messages: BaseMessage[] = [new HumanMessage("Compare them")];
    for (let round = 0; round < 3; round++) {
      const said = await bound.invoke(messages);
      messages.push(
        said,
        ...(said.tool_calls ?? []).map(
          ({ id = "", args }) => new ToolMessage({ tool_call_id: id, content: `sunny in ${String(args["city"])}` }),
        ),
      );
    }
    expect(messages.at(-1)?.text).toBe(SAID);
    running.model.answer({ toolCalls: [{ name: "extract", id: "call_x", arguments: { city: "Porto" } }] });
    const extract = model.withStructuredOutput(City, { name: "extract", method: "functionCalling" });
    expect(await extract.invoke("I live in Porto")).toEqual({ city: "Porto" });
    expect(await extract.invoke("I live in Porto")).toEqual({ city: "Porto" });
  });

  test("OpenAI's own parses answers and arguments by zod, in both of its APIs", async () => {
    const { chat, responses } = openClient(running.url, { headers: { "X-User-Id": "zod" } });
    running.model.answer({ toolCalls: [call("Porto")] });
    const completion = await chat.completions.parse({
      model: MODEL,
      messages: [says("Weather?")],
      tools: [zodFunction({ name: "weather", parameters: City })],
    });
    expect(completion.choices[0]?.message.tool_calls).toMatchObject([{ function: { parsed_arguments: { city: "Porto" } } }]);
    const called = await responses.parse({
      model: MODEL,
      input: "Weather here?",
      tools: [zodResponsesFunction({ name: "weather", parameters: City })],
    });
    expect(called.output[0]).toMatchObject({ type: "function_call", parsed_arguments: { city: "Porto" } });
    running.model.answer({ tokens: ['{"city":', '"Porto"}'] });
    const format = { format: zodTextFormat(City, "city") };
    expect((await responses.parse({ model: MODEL, input: "Where?", text: format })).output_parsed).toEqual({ city: "Porto" });
    const streamed = responses.stream({ model: MODEL, input: "Where, streamed?", text: format });
    expect((await streamed.finalResponse()).output_parsed).toEqual({ city: "Porto" });
  });
});
