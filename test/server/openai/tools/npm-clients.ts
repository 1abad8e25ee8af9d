import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { tool as langChainTool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { generateObject, generateText, stepCountIs, streamText, tool, type LanguageModel } from "ai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import { MODEL, openClient, says } from "../open-client.ts";
import { FEATURES, type Feature } from "./clients-table.ts";

Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

export const City = z.object({ city: z.string() });
const SCHEMA = { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false };
const COMPARE = "Compare the weather of two cities";

/** Each as a person would write it; `user` has memory of its own. */
type Uses = Record<Exclude<Feature, "tools">, (user: string) => Promise<unknown>> & {
  /** The answers behind the calls of `sunny`. */
  tools: (user: string, sunny: (given: { city: string }) => string) => Promise<string[]>;
};

type Url = () => string;

function ofOpenAI(url: Url): { completions: Uses; responses: Uses } {
  const named = (user: string) => openClient(url(), { headers: { "X-User-Id": user } });
  const completions: Uses = {
    whole: async (user) =>
      (await named(user).chat.completions.create({ model: MODEL, messages: [says("Hello")] })).choices[0]?.message.content,
    streamed: (user) =>
      named(user)
        .chat.completions.stream({ model: MODEL, messages: [says("Hello")] })
        .finalContent(),
    async tools(user, sunny) {
      const weather = { name: "weather", parameters: SCHEMA, parse: (text: string) => City.parse(JSON.parse(text)), function: sunny };
      const runner = named(user).chat.completions.runTools({
        model: MODEL,
        messages: [says(COMPARE)],
        tools: [{ type: "function", function: { ...weather, description: "The weather" } }],
      });
      return [(await runner.finalContent()) ?? ""];
    },
    async JSON(user) {
      const format = zodResponseFormat(City, "city");
      const asked = await named(user).chat.completions.parse({
        model: MODEL,
        messages: [says("Which city is the capital of France?")],
        response_format: format,
      });
      return asked.choices[0]?.message.parsed;
    },
  };
  const responses: Uses = {
    whole: async (user) => (await named(user).responses.create({ model: MODEL, input: "Hello" })).output_text,
    streamed: async (user) => (await named(user).responses.stream({ model: MODEL, input: "Hello" }).finalResponse()).output_text,
    async tools(user, sunny) {
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
      return [response.output_text];
    },
    async JSON(user) {
      const text = { format: zodTextFormat(City, "city") };
      const streamed = await named(user)
        .responses.stream({ model: MODEL, input: "Which city is the capital of Spain?", text })
        .finalResponse();
      City.parse(streamed.output_parsed);
      return (await named(user).responses.parse({ model: MODEL, input: "Which city is the capital of France?", text })).output_parsed;
    },
  };
  return { completions, responses };
}

function ofAiSdk(modelOf: (user: string) => LanguageModel): Uses {
  return {
    whole: async (user) => (await generateText({ model: modelOf(user), prompt: "Hello" })).text,
    streamed: async (user) => streamText({ model: modelOf(user), prompt: "Hello" }).text,
    async tools(user, sunny) {
      const weather = tool({ description: "The weather", inputSchema: City, execute: (given) => Promise.resolve(sunny(given)) });
      const request = { model: modelOf(user), tools: { weather }, stopWhen: stepCountIs(5) };
      const streamed = await streamText({ ...request, prompt: `${COMPARE}, streamed` }).text;
      return [streamed, (await generateText({ ...request, prompt: COMPARE })).text];
    },
    JSON: async (user) =>
      (await generateObject({ model: modelOf(user), schema: City, prompt: "Which city is the capital of France?" })).object,
  };
}

function ofLangChain(url: Url, useResponsesApi: boolean): Uses {
  const modelOf = (user: string): ChatOpenAI => {
    const configuration = { baseURL: `${url()}/v1`, defaultHeaders: { "X-User-Id": user } };
    return new ChatOpenAI({ model: MODEL, apiKey: "none", maxRetries: 0, configuration, useResponsesApi });
  };
  return {
    whole: async (user) => (await modelOf(user).invoke("Hello")).text,
    async streamed(user) {
      const chunks = await Array.fromAsync(await modelOf(user).stream("Hello"));
      return chunks.map(({ text }) => text).join("");
    },
    async tools(user, sunny) {
      const bound = modelOf(user).bindTools([langChainTool(sunny, { name: "weather", description: "The weather", schema: City })]);
      const messages: BaseMessage[] = [new HumanMessage(COMPARE)];
      for (let round = 0; round < 3; round++) {
        const said = await bound.invoke(messages);
        const results = (said.tool_calls ?? []).map(({ id = "", args }) => {
          return new ToolMessage({ tool_call_id: id, content: sunny(City.parse(args)) });
        });
        messages.push(said, ...results);
        if (results.length === 0) break;
      }
      return [messages.at(-1)?.text ?? ""];
    },
    async JSON(user) {
      // A forced call, which nobody answers: it locks nothing.
      const forced = modelOf(user).withStructuredOutput(City, { name: "extract", method: "functionCalling" });
      for (const words of ["I live in Porto", "I live in Porto"]) City.parse(await forced.invoke(words));
      return modelOf(user)
        .withStructuredOutput(City, { name: "extract", method: "jsonSchema" })
        .invoke("Which city is the capital of France?");
    },
  };
}

/** The clients of npm in docs/front-ends.md, and what each is tried for. */
export function npmClients(url: Url): Record<string, { completions: Uses; responses?: Uses }> {
  const base = (user: string) => ({ baseURL: `${url()}/v1`, apiKey: "none", headers: { "X-User-Id": user } });
  const compatible = (user: string) => createOpenAICompatible({ ...base(user), name: "memory", supportsStructuredOutputs: true });
  return {
    "npm `openai`": ofOpenAI(url),
    "`@ai-sdk/openai` ": {
      completions: ofAiSdk((user) => createOpenAI(base(user)).chat(MODEL)),
      responses: ofAiSdk((user) => createOpenAI(base(user)).responses(MODEL)),
    },
    "`@ai-sdk/openai-compatible`": { completions: ofAiSdk((user) => compatible(user)(MODEL)) },
    "`@langchain/openai`": { completions: ofLangChain(url, false), responses: ofLangChain(url, true) },
  };
}

/** Each use of each client, as the columns of the docs are named. `user` is a name of its own. */
export function triedNpmClients(url: Url) {
  return Object.entries(npmClients(url)).flatMap(([client, apis]) =>
    (["completions", "responses"] as const).flatMap((api) => {
      const uses = apis[api];
      if (!uses) return [];
      return FEATURES.map((feature) => {
        const column = `${api}, ${feature}`;
        return { client, column, feature, uses, user: `${client} ${column}`.replaceAll(/[^a-z]+/gi, "-") };
      });
    }),
  );
}
