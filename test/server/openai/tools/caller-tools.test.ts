import type { ChatCompletionCreateParamsNonStreaming, ChatCompletionMessageParam } from "openai/resources/chat/completions";
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { ScriptedToolCall } from "../../../servers/model-server.ts";
import { callApi, listConversations, messagesOf } from "../../../support/clients/api-client.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";
import { failureOf, MODEL, openClient, says } from "../open-client.ts";

const functionTool = (name: string) => ({
  type: "function" as const,
  function: {
    name,
    description: `${name} of a city`,
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
});
const TOOLS = [functionTool("weather"), functionTool("time")];

describe("the caller's tools, used with the official client,", () => {
  const running = useServiceWithModel();
  beforeEach(() => running.model.answer({ tokens: ["no ", "script"] }));

  const client = (session: string) => openClient(running.url, { headers: { "X-Session-Id": session } });
  const create = (session: string, fields: object) =>
    client(session).chat.completions.create({
      model: MODEL,
      user: "ada",
      messages: [says("How is it in Porto?")],
      tools: TOOLS,
      ...fields,
    } as ChatCompletionCreateParamsNonStreaming);
  const seen = () => running.model.seen.at(-1)?.body;
  const result = (id: string, content: string) => ({ role: "tool" as const, tool_call_id: id, content });
  const call = (name: string, id: string, city = "Porto"): ScriptedToolCall => ({ name, id, arguments: { city } });

  /** The model calls these, round by round, and then says what the tools said. */
  function script(...rounds: ScriptedToolCall[][]): void {
    const waiting = [...rounds];
    running.model.answer((body) => {
      const toolCalls = waiting.shift();
      if (toolCalls) return { toolCalls };
      const said = body.messages.filter(({ role }) => role === "tool").map(({ content }) => content.replace(/<[^>]*>|^> /gm, "").trim());
      return { tokens: [`It is ${said.join(" and ")}.`] };
    });
  }

  test("are called and answered within one turn, whose question and answer are stored once", async () => {
    script([call("weather", "w1"), call("time", "t1")]);
    const first = await create("both", {});
    const [choice] = first.choices;
    expect(choice?.finish_reason).toBe("tool_calls");
    expect(choice?.message).toMatchObject({
      content: null,
      tool_calls: [
        { id: "w1", type: "function", function: { name: "weather", arguments: '{"city":"Porto"}' } },
        { id: "t1", type: "function", function: { name: "time", arguments: '{"city":"Porto"}' } },
      ],
    });
    expect(seen()?.tools).toEqual(TOOLS);
    const history = [says("How is it in Porto?"), choice?.message as ChatCompletionMessageParam];
    const missing = await failureOf(create("both", { messages: [...history, result("w1", "sunny")] }));
    expect(missing).toMatchObject({ status: 400, param: "messages" });
    expect(missing.message).toContain("t1");
    const second = await create("another session", { messages: [...history, result("w1", "sunny"), result("t1", "noon")] });
    expect(second.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "It is sunny and noon." } });
    expect(second.id).not.toBe(first.id);
    expect((await messagesOf(running.url, "ada", "both")).map(({ content, completed }) => [content, completed])).toEqual([
      ["How is it in Porto?", true],
      ["It is sunny and noon.", true],
    ]);
    const late = await failureOf(create("both", { messages: [...history, result("w1", "x"), result("t1", "y")] }));
    expect(late).toMatchObject({ status: 400, param: "messages.2.tool_call_id" });
    expect(late.message).toContain("w1");
    // A later turn sees what the tools said.
    await create("both", { messages: [says("And now?")] });
    expect(JSON.stringify(seen()?.messages)).toContain("noon");
  });

  test("refuse results in the wrong order with the reason, and wait for the right ones", async () => {
    script([call("weather", "o1"), call("time", "o2")]);
    const [choice] = (await create("order", {})).choices;
    const asked = says("How is it in Porto?");
    const called = choice?.message as ChatCompletionMessageParam;
    const WRONG: [messages: object[], param: string, words: RegExp][] = [
      [[asked, called], "messages.1.tool_calls", /wait for results.*\(o1, o2\)/],
      [[asked, result("o1", "x"), result("o2", "y"), called], "messages.3.tool_calls", /behind it/],
      [[asked, called, result("o3", "x")], "messages.2.tool_call_id", /"o3" is no call .* which are o1, o2/],
      [[asked, called, result("o1", "x"), result("o1", "y")], "messages.3.tool_call_id", /"o1" has its result/],
      [[asked, called, result("o1", "x"), says("and"), result("o2", "y")], "messages", /calls o1; .* as the last messages/],
      [[asked, called, result("o1", "x"), { role: "system", content: "Hm" }], "messages.3.role", /is system/],
    ];
    for (const [messages, param, words] of WRONG) {
      const refused = await failureOf(create("order", { messages }));
      expect(refused).toMatchObject({ status: 400, type: "invalid_request_error", param, message: expect.stringMatching(words) });
    }
    const right = await create("order", { messages: [asked, called, result("o2", "noon"), result("o1", "sunny")] });
    expect(right.choices[0]?.message.content).toMatch(/sunny/);
  });

  test("run in the client's own loop, streamed or not", async () => {
    for (const stream of [false, true]) {
      script([call("weather", `${String(stream)}-1`)], [call("weather", `${String(stream)}-2`, "Lagos")]);
      const asked: string[] = [];
      const weather = {
        type: "function" as const,
        function: {
          ...functionTool("weather").function,
          parse: JSON.parse as (text: string) => { city: string },
          function: ({ city }: { city: string }) => (asked.push(city), `sunny in ${city}`),
        },
      };
      const request = { model: MODEL, user: "ada", messages: [says("Compare")], tools: [weather] };
      const runner = stream
        ? client(`loop ${String(stream)}`).chat.completions.runTools({ ...request, stream: true })
        : client(`loop ${String(stream)}`).chat.completions.runTools(request);
      expect(await runner.finalContent()).toBe("It is sunny in Porto and sunny in Lagos.");
      expect(asked).toEqual(["Porto", "Lagos"]);
    }
  });

  test("that nobody answers never lock a chat, and the next message is a new turn", async () => {
    script([call("weather", "lost")]);
    await create("lost", {});
    const next = await create("lost", { messages: [says("How is it in Porto?"), says("Never mind")], tools: undefined });
    expect(next.choices[0]?.finish_reason).toBe("stop");
    const late = await failureOf(create("lost", { messages: [says("x"), result("lost", "sunny")] }));
    expect(late).toMatchObject({ status: 400, param: "messages.1.tool_call_id" });
    // The same first message, without a name for the chat, while its calls wait: another chat.
    const unnamed = () =>
      openClient(running.url).chat.completions.create({ model: MODEL, user: "zoe", messages: [says("Hi")], tools: TOOLS });
    script([call("weather", "one")], [call("weather", "two")]);
    await unnamed();
    await unnamed();
    expect(await listConversations(running.url, "zoe")).toHaveLength(2);
  });

  test('are left out with tool_choice "none", and only the named tool stays with a named one', async () => {
    await create("none", { tool_choice: "none" });
    expect(seen()?.tools).toBeUndefined();
    running.model.answer({ toolCalls: [call("time", "t")] });
    const forced = await create("named", { tool_choice: { type: "function", function: { name: "time" } } });
    expect(forced.choices[0]).toMatchObject({ finish_reason: "tool_calls", message: { tool_calls: [{ function: { name: "time" } }] } });
    expect(seen()).toMatchObject({ tools: [TOOLS[1]], tool_choice: "required" });
    running.model.answer({ tokens: ["fine"] });
    await create("allowed", { tool_choice: { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [TOOLS[0]] } } });
    expect(seen()?.tools).toEqual([TOOLS[0]]);
    expect(await failureOf(create("x", { tool_choice: { type: "function", function: { name: "x" } } }))).toMatchObject({
      param: "tool_choice",
    });
    expect(await failureOf(create("x", { tools: undefined, tool_choice: "required" }))).toMatchObject({ param: "tool_choice" });
    await create("custom", { tools: [{ type: "custom", custom: { name: "x" } }] });
    expect(seen()?.tools).toBeUndefined();
  });

  test("that must be called end the turn, and their arguments are the stored answer", async () => {
    running.model.answer({ toolCalls: [call("weather", "w")] });
    await create("extract", { tool_choice: "required" });
    expect((await messagesOf(running.url, "ada", "extract")).map(({ content }) => content)).toEqual([
      "How is it in Porto?",
      '{"city":"Porto"}',
    ]);
    const { json } = await callApi<{ questions: unknown[] }>(`${running.url}/api/v1/questions?user_id=ada`);
    expect(JSON.stringify(json.questions)).not.toContain('"w"');
  });

  test("that must be called are read again as calls in the Responses API", async () => {
    running.model.answer({ toolCalls: [call("weather", "rw")] });
    const { responses } = openClient(running.url);
    const { name, parameters } = functionTool("weather").function;
    const tools = [{ type: "function" as const, strict: null, name, parameters }];
    const made = await responses.create({ model: MODEL, user: "rob", input: "How is it in Porto?", tools, tool_choice: "required" });
    expect(made.output).toMatchObject([{ type: "function_call", call_id: "rw", name: "weather", arguments: '{"city":"Porto"}' }]);
    expect((await responses.retrieve(made.id)).output).toEqual(made.output);
  });

  test("that must be called refuse late, missing or foreign results", async () => {
    running.model.answer({ toolCalls: [call("weather", "l1"), call("time", "l2")] });
    const asked = says("How is it in Porto?");
    const [choice] = (await create("late", { tool_choice: "required" })).choices;
    const history = [asked, choice?.message as ChatCompletionMessageParam];
    const some = await failureOf(create("late", { messages: [...history, result("l1", "sunny")] }));
    expect(some).toMatchObject({ status: 400, param: "messages", message: expect.stringContaining("l2") as unknown });
    const both = [...history, result("l1", "sunny"), result("l2", "noon")];
    expect(await failureOf(create("late", { user: "zoe", messages: both }))).toMatchObject({
      status: 400,
      param: "messages.2.tool_call_id",
    });
    running.model.answer({ status: 500 });
    await failureOf(create("late", { messages: both }));
    const kept = (await messagesOf(running.url, "ada", "late")).map(({ content }) => content);
    expect(kept).toEqual(["How is it in Porto?", expect.stringContaining('"weather"')]);
    running.model.answer({ tokens: ["fine"] });
    expect((await create("late", { messages: both })).choices[0]?.message.content).toBe("fine");
    await create("late", { messages: [asked, says("And now?")] });
    expect(await failureOf(create("late", { messages: both }))).toMatchObject({ status: 400, param: "messages.2.tool_call_id" });
  });

  test("that must be called but are not called are asked for again as JSON of their schema", async () => {
    running.model.answer((body) => ({ tokens: body.response_format ? ['{"city":', '"Porto"}'] : ["I would rather talk."] }));
    const forced = await create("rather", { tool_choice: { type: "function", function: { name: "weather" } } });
    expect(forced.choices[0]?.message).toMatchObject({
      content: null,
      tool_calls: [{ id: expect.stringMatching(/^call_/), function: { name: "weather", arguments: '{"city":"Porto"}' } }],
    });
    expect(seen()).toMatchObject({ response_format: { json_schema: { schema: TOOLS[0]?.function.parameters } } });
  });

  test("wait in the Responses API, are answered by previous_response_id or by call id, and can be read again", async () => {
    script([call("weather", "r1")]);
    const { responses } = openClient(running.url);
    const tools = [
      { type: "function" as const, strict: null, ...TOOLS[0]?.function, name: "weather", parameters: TOOLS[0]?.function.parameters ?? {} },
    ];
    const stream = responses.stream({ model: MODEL, user: "rita", input: "How is it in Porto?", tools });
    const deltas: string[] = [];
    stream.on("response.function_call_arguments.delta", ({ delta }) => deltas.push(delta));
    const first = await stream.finalResponse();
    expect(deltas.join("")).toBe('{"city":"Porto"}');
    expect(first).toMatchObject({
      status: "completed",
      output: [{ type: "function_call", call_id: "r1", name: "weather", status: "completed" }],
    });
    expect(await responses.retrieve(first.id)).toMatchObject({ id: first.id, output: [{ type: "function_call", call_id: "r1" }] });
    const output = { type: "function_call_output" as const, call_id: "r1", output: "sunny" };
    const second = await responses.create({ model: MODEL, user: "rita", previous_response_id: first.id, input: [output], tools });
    expect(second.output_text).toBe("It is sunny.");
    expect(second.id).not.toBe(first.id);
    expect(await responses.retrieve(second.id)).toMatchObject({ id: second.id, output: second.output });
    expect((await responses.retrieve(first.id)).output).toMatchObject([{ type: "function_call", call_id: "r1" }]);
    const third = await responses.create({ model: MODEL, user: "rita", previous_response_id: second.id, input: "Thanks" });
    expect(third.status).toBe("completed");
    script([call("weather", "r2")]);
    const open = await responses.create({ model: MODEL, user: "rita", previous_response_id: third.id, input: "Again?", tools });
    const closed = await responses.create({ model: MODEL, user: "rita", previous_response_id: open.id, input: "Never mind", tools });
    expect(closed.status).toBe("completed");
  });

  test("are dropped from the last one when the window is small, while the message stays", async () => {
    const many = Array.from({ length: 36 }, (_, index) => ({
      type: "function" as const,
      function: { ...functionTool(`tool_${index}`).function, description: "A long description of what it does. ".repeat(100) },
    }));
    running.model.answer({ tokens: ["fine"] });
    await create("many", { tools: many });
    const names = seen()?.tools?.map(({ function: { name } }) => name) ?? [];
    expect(names.length).toBeGreaterThan(0);
    expect(names.length).toBeLessThan(36);
    expect(names).toEqual(many.slice(0, names.length).map(({ function: { name } }) => name));
    expect(seen()?.messages.at(-1)?.content).toBe("How is it in Porto?");
  });
});
