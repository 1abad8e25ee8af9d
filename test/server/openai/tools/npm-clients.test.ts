import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { describe, expect, test } from "@jest/globals";
import { HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { tool as langChainTool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { generateObject, generateText, stepCountIs, streamText, tool, type LanguageModel } from "ai";
import { zodFunction, zodResponseFormat, zodResponsesFunction, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import { listConversations } from "../../../support/clients/api-client.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";
import { MODEL, openClient, says } from "../open-client.ts";
import { answerClients, SAID } from "./client-script.ts";
import { columnsInDocs, FEATURES, type Feature } from "./clients-table.ts";

Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

const City = z.object({ city: z.string() });
const sunny = ({ city }: { city: string }): string => `sunny in ${city}`;
const SCHEMA = { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false };
const COMPARE = "Compare the weather of two cities";

/** Each as a person would write it; `user` has memory of its own. */
type Uses = Record<Feature, (user: string) => Promise<unknown>>;

describe("clients of npm, as they are", () => {
  const running = useServiceWithModel();
  const base = () => ({ baseURL: `${running.url}/v1`, apiKey: "none" });
  const named = (user: string) => openClient(running.url, { headers: { "X-User-Id": user } });

  const completions: Uses = {
    whole: async (user) =>
      (await named(user).chat.completions.create({ model: MODEL, messages: [says("Hello")] })).choices[0]?.message.content,
    streamed: (user) =>
      named(user)
        .chat.completions.stream({ model: MODEL, messages: [says("Hello")] })
        .finalContent(),
    async tools(user) {
      const weather = { name: "weather", parameters: SCHEMA, parse: (text: string) => City.parse(JSON.parse(text)), function: sunny };
      const runner = named(user).chat.completions.runTools({
        model: MODEL,
        messages: [says(COMPARE)],
        tools: [{ type: "function", function: { ...weather, description: "The weather" } }],
      });
      return runner.finalContent();
    },
    async JSON(user) {
      const format = zodResponseFormat(City, "city");
      const asked = await named(user).chat.completions.parse({ model: MODEL, messages: [says("Where?")], response_format: format });
      return asked.choices[0]?.message.parsed;
    },
  };

  const responses: Uses = {
    whole: async (user) => (await named(user).responses.create({ model: MODEL, input: "Hello" })).output_text,
    streamed: async (user) => (await named(user).responses.stream({ model: MODEL, input: "Hello" }).finalResponse()).output_text,
    async tools(user) {
      const client = named(user);
      const tools = [{ type: "function" as const, name: "weather", parameters: SCHEMA, strict: true }];
      let response = await client.responses.create({ model: MODEL, input: COMPARE, tools });
      for (let round = 0; round < 3; round++) {
        const calls = response.output.filter((item) => item.type === "function_call");
        if (calls.length === 0) break;
        const input = calls.map(({ call_id, arguments: given }) => {
          return { type: "function_call_output" as const, call_id, output: sunny(City.parse(JSON.parse(given))) };
        });
        response = await client.responses.create({ model: MODEL, previous_response_id: response.id, input, tools });
      }
      return response.output_text;
    },
    async JSON(user) {
      const text = { format: zodTextFormat(City, "city") };
      const streamed = await named(user).responses.stream({ model: MODEL, input: "Where, streamed?", text }).finalResponse();
      expect(streamed.output_parsed).toEqual({ city: "Porto" });
      return (await named(user).responses.parse({ model: MODEL, input: "Where?", text })).output_parsed;
    },
  };

  function ofAiSdk(modelOf: (user: string) => LanguageModel): Uses {
    const weather = tool({ description: "The weather", inputSchema: City, execute: (given) => Promise.resolve(sunny(given)) });
    return {
      whole: async (user) => (await generateText({ model: modelOf(user), prompt: "Hello" })).text,
      streamed: async (user) => streamText({ model: modelOf(user), prompt: "Hello" }).text,
      async tools(user) {
        const request = { model: modelOf(user), tools: { weather }, stopWhen: stepCountIs(5) };
        const streamed = streamText({ ...request, prompt: `${COMPARE}, streamed` });
        expect(await streamed.text).toBe(SAID);
        const calls = (await streamed.steps).flatMap(({ toolCalls }) => toolCalls.map(({ input }) => input));
        expect(calls).toEqual([{ city: "Porto" }, { city: "Lagos" }]);
        const { text, steps } = await generateText({ ...request, prompt: COMPARE });
        expect(steps).toHaveLength(3);
        expect((await listConversations(running.url, user)).map(({ message_count }) => message_count)).toEqual([2, 2]);
        return text;
      },
      JSON: async (user) => (await generateObject({ model: modelOf(user), schema: City, prompt: "Where?" })).object,
    };
  }

  function ofLangChain(useResponsesApi: boolean): Uses {
    const modelOf = (user: string): ChatOpenAI => {
      const configuration = { baseURL: base().baseURL, defaultHeaders: { "X-User-Id": user } };
      return new ChatOpenAI({ model: MODEL, apiKey: "none", maxRetries: 0, configuration, useResponsesApi });
    };
    const weather = langChainTool(sunny, { name: "weather", description: "The weather", schema: City });
    return {
      whole: async (user) => (await modelOf(user).invoke("Hello")).text,
      async streamed(user) {
        const chunks = await Array.fromAsync(await modelOf(user).stream("Hello"));
        return chunks.map(({ text }) => text).join("");
      },
      async tools(user) {
        const bound = modelOf(user).bindTools([weather]);
        const messages: BaseMessage[] = [new HumanMessage(COMPARE)];
        for (let round = 0; round < 3; round++) {
          const said = await bound.invoke(messages);
          const results = (said.tool_calls ?? []).map(({ id = "", args }) => {
            return new ToolMessage({ tool_call_id: id, content: sunny(City.parse(args)) });
          });
          messages.push(said, ...results);
        }
        return messages.at(-1)?.text;
      },
      async JSON(user) {
        // A forced call, which nobody answers: it locks nothing.
        const forced = modelOf(user).withStructuredOutput(City, { name: "extract", method: "functionCalling" });
        for (const words of ["I live in Porto", "I live in Porto"]) expect(await forced.invoke(words)).toEqual({ city: "Porto" });
        return modelOf(user).withStructuredOutput(City, { name: "extract", method: "jsonSchema" }).invoke("Where?");
      },
    };
  }

  const aiSdk = (user: string) => createOpenAI({ ...base(), headers: { "X-User-Id": user } });
  const compatible = (user: string) =>
    createOpenAICompatible({ ...base(), name: "memory", headers: { "X-User-Id": user }, supportsStructuredOutputs: true });
  const CLIENTS: Record<string, { completions: Uses; responses?: Uses }> = {
    "npm `openai`": { completions, responses },
    "`@ai-sdk/openai` ": {
      completions: ofAiSdk((user) => aiSdk(user).chat(MODEL)),
      responses: ofAiSdk((user) => aiSdk(user).responses(MODEL)),
    },
    "`@ai-sdk/openai-compatible`": { completions: ofAiSdk((user) => compatible(user)(MODEL)) },
    "`@langchain/openai`": { completions: ofLangChain(false), responses: ofLangChain(true) },
  };
  const TRIED = Object.entries(CLIENTS).flatMap(([client, apis]) =>
    (["completions", "responses"] as const).flatMap((api) => {
      const uses = apis[api];
      return uses ? FEATURES.map((feature) => ({ client, column: `${api}, ${feature}`, feature, use: uses[feature] })) : [];
    }),
  );
  const EXPECTED: Record<Feature, unknown> = { whole: "Hello there", streamed: "Hello there", tools: SAID, JSON: { city: "Porto" } };

  test.each(TRIED)("$client: $column", async ({ client, column, feature, use }) => {
    running.model.answer(answerClients);
    expect(await use(`${client} ${column}`.replaceAll(/[^a-z]+/gi, "-"))).toEqual(EXPECTED[feature]);
  });

  test.each(Object.keys(CLIENTS))("what the docs say of %s is tried here", (name) => {
    expect(columnsInDocs(name)).toEqual(TRIED.filter(({ client }) => client === name).map(({ column }) => column));
  });

  test("OpenAI's own reads arguments by zod, in both of its APIs", async () => {
    running.model.answer(answerClients);
    const { chat, responses: ofResponses } = named("zod");
    const [completion, called] = await Promise.all([
      chat.completions.parse({ model: MODEL, messages: [says("Weather?")], tools: [zodFunction({ name: "weather", parameters: City })] }),
      ofResponses.parse({ model: MODEL, input: "Weather here?", tools: [zodResponsesFunction({ name: "weather", parameters: City })] }),
    ]);
    expect(completion.choices[0]?.message.tool_calls).toMatchObject([{ function: { parsed_arguments: { city: "Porto" } } }]);
    expect(called.output[0]).toMatchObject({ type: "function_call", parsed_arguments: { city: "Porto" } });
  });
});
