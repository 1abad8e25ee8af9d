import { AIMessage, type BaseMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, test } from "@jest/globals";
import { describeSkills } from "../../../agents/tools/load-skill.ts";
import { OfflineChatModel } from "../../../models/offline/offline-chat-model.ts";
import { offlineCalls, type OfferedTool } from "../../../models/offline/offline-calls.ts";
import { streamAnswer } from "../../../models/stream-answer.ts";

const text = { type: "string" };
function offered(
  name: string,
  description: string,
  properties: Record<string, object> = {},
  required = Object.keys(properties),
): OfferedTool {
  return { type: "function", function: { name, description, parameters: { type: "object", properties, required } } };
}

const TOOLS = [
  offered("knowledge_search", "Searches the documents.", { query: text }),
  offered("core_memory_update", "Writes a section.", { section: text, content: text }),
  offered("mcp__orders__search_nodes", "Search for nodes in the knowledge graph based on a query", { query: text }),
  offered("mcp__orders__delete_nodes", "Delete nodes", { names: { type: "array" } }),
  offered("mcp__tickets__write_file", "Create a new file or overwrite an existing file.", { path: text, content: text }),
];
const PLAN = offered("todo_write", "Writes the plan", { items: { type: "array" } });
const SKILL = offered("load_skill", "Loads a skill", { name: text });

const callsOf = (message: string, tools = TOOLS) =>
  offlineCalls([], message, tools).map(({ name, arguments: given }) => [name, given] as const);

describe("the offline model's calls", () => {
  test.each<[string, [string, object][]]>([
    ["Look up order A-1042.", [["mcp__orders__search_nodes", { query: "A-1042" }]]],
    ["查一下订单 A-1042。", [["mcp__orders__search_nodes", { query: "A-1042" }]]],
    ['Write the ticket "too late" to a/b.md', [["mcp__tickets__write_file", { path: "a/b.md", content: "too late" }]]],
  ])("for %j are made of its words", (message, calls) => expect(callsOf(message)).toEqual(calls));

  test.each([
    "Hello!",
    "你好",
    "Where do I live?",
    "I live in Lisbon and I love jazz.",
    "On 2026-11-25 we met at 7.",
    "Write a ticket.",
    "Delete the order.",
    "Update my core memory.",
    "What is 17.5 % of 80?",
    "",
  ])("for %j are none: no tool fits, or the message does not say what it must know", (message) => expect(callsOf(message)).toEqual([]));

  const BOTH = [
    ["mcp__orders__search_nodes", { query: "A-1042" }],
    ["mcp__tickets__write_file", { path: "late.md", content: "too late" }],
  ];
  test.each(['Find order A-1042 and then write the ticket late.md "too late"', "查订单 A-1042，然后写工单 late.md“too late”"])(
    "come in the order of the steps of %j",
    (message) => expect(callsOf(message)).toEqual(BOTH),
  );

  test("stand between a plan and its end when there are several steps", () => {
    const [first, ...others] = callsOf('Find order A-1042, then write the ticket late.md "too late"', [PLAN, ...TOOLS]);
    expect(first).toEqual([
      "todo_write",
      {
        items: [
          { content: "Find order A-1042", status: "in_progress" },
          { content: 'write the ticket late.md "too late"', status: "pending" },
        ],
      },
    ]);
    expect(others.slice(0, 2)).toEqual(BOTH);
    expect(others.slice(2)).toMatchObject([["todo_write", { items: [{ status: "completed" }, { status: "completed" }] }]]);
  });

  const MEMBERS = { agent: { type: "string", enum: ["researcher", "clock"] }, task: text };
  const OTHERS = { agent: { type: "string", enum: ["clerk"] }, reason: text };
  const TEAM = [offered("ask_agent", "Gives a task", MEMBERS), offered("handoff_to", "Hands on", OTHERS), ...TOOLS];
  test.each<[string, [string, object][]]>([
    ["Ask the researcher to look up the rules", [["ask_agent", { agent: "researcher", task: "look up the rules" }]]],
    ["请 researcher 查一下退货规则", [["ask_agent", { agent: "researcher", task: "查一下退货规则" }]]],
    [
      "Ask the Researcher to find the rules and then ask the clock to read the time",
      [
        ["ask_agent", { agent: "researcher", task: "find the rules" }],
        ["ask_agent", { agent: "clock", task: "read the time" }],
      ],
    ],
    ["Please hand me over to the clerk", [["handoff_to", { agent: "clerk", reason: "Please hand me over to the clerk" }]]],
    ["把我转给 clerk", [["handoff_to", { agent: "clerk", reason: "把我转给 clerk" }]]],
    ["Ask the porter to come", []],
    ["Hand me over to the researcher", []],
  ])("for %j turn to the agent that it names, if that is one of the team", (message, calls) => {
    expect(callsOf(message, TEAM)).toEqual(calls);
  });

  test("begin with the skill that has most of the message's words, in either language", () => {
    const about = describeSkills([
      { name: "plan-a-trip", description: "Plans a trip. 旅行计划", tier: "system" },
      { name: "handle-a-complaint", description: "Handles a complaint about a broken order. 客户投诉、商品损坏", tier: "system" },
    ]);
    const of = (message: string) => offlineCalls([new SystemMessage(about)], message, [SKILL, ...TOOLS]);
    const skill = [{ name: "load_skill", arguments: { name: "handle-a-complaint" } }];
    expect(of("I have a complaint, it came broken")).toEqual(skill);
    expect(of("我要投诉")).toEqual(skill);
    expect(of("Hello, how are you?")).toEqual([]);
  });
});

describe("the offline model with tools", () => {
  const timeouts = { firstTokenMs: 10_000, idleMs: 10_000 };
  const ask = (prompt: BaseMessage[], tools = TOOLS) =>
    streamAnswer({ model: new OfflineChatModel(), prompt, tools, timeouts, onToken: () => undefined });
  const question = new HumanMessage('Find order A-1042 and then write the ticket late.md "too late"');
  const called = (name: string, output: string, index: number): BaseMessage[] => [
    new AIMessage({ content: "", tool_calls: [{ id: `${index}`, name, args: {} }] }),
    new ToolMessage({ tool_call_id: `${index}`, name, content: `<tool_output>\n> ${output}\n</tool_output>` }),
  ];

  test("makes one call after another, and then quotes what the tools said", async () => {
    const first = await ask([question]);
    expect(first).toMatchObject({
      text: "",
      error: null,
      toolCalls: [{ name: "mcp__orders__search_nodes", arguments: '{"query":"A-1042"}' }],
    });
    const found = [question, ...called("mcp__orders__search_nodes", "Desk lamp", 1)];
    expect((await ask(found)).toolCalls).toMatchObject([
      { name: "mcp__tickets__write_file", arguments: '{"path":"late.md","content":"too late"}' },
    ]);
    const both = [...found, ...called("mcp__tickets__write_file", "Written", 2)];
    const quotes = 'mcp__orders__search_nodes says: "Desk lamp"\nmcp__tickets__write_file says: "Written"';
    expect(await ask(both)).toMatchObject({ text: quotes, toolCalls: [], error: null });
  });

  test("quotes an agent by its name, and makes its own calls after a handoff", async () => {
    const told = [question, new AIMessage({ content: "", tool_calls: [{ id: "1", name: "ask_agent", args: { agent: "clock" } }] })];
    const done = new ToolMessage({ tool_call_id: "1", name: "ask_agent", content: "It is noon." });
    expect(await ask([...told, done], [])).toMatchObject({ text: 'clock says: "It is noon."' });
    const handed = [question, ...called("handoff_to", "clerk answers from now on", 1)];
    expect((await ask(handed)).toolCalls).toMatchObject([{ name: "mcp__orders__search_nodes" }]);
  });

  test("answers from what there is when it may call no more", async () => {
    const limit = new HumanMessage("The limit of 2 steps is reached: no more tools can be called.");
    const prompt = [question, ...called("mcp__orders__search_nodes", "Desk lamp", 1), limit];
    expect(await ask(prompt, [])).toMatchObject({ text: 'mcp__orders__search_nodes says: "Desk lamp"', toolCalls: [] });
  });

  test("calls the same when it is not streamed", async () => {
    const { tool_calls } = await new OfflineChatModel().bindTools(TOOLS).invoke([question]);
    expect(tool_calls).toMatchObject([{ name: "mcp__orders__search_nodes", args: { query: "A-1042" } }]);
  });
});
