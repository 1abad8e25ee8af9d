import { beforeEach, describe, expect, test } from "@jest/globals";
import { callOf, ORDER_TOOLS } from "../../support/services/asking-agent.ts";
import { give, handTo, teamClient } from "../../support/services/asking-team.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { framesOf, human, langGraphClient, lastOf, type SentFrame, type StateValues } from "./langgraph-client.ts";

const opened = useServiceWithModel({}, { extras: { tools: ORDER_TOOLS } });
const client = () => langGraphClient(opened.url);
let team: ReturnType<typeof teamClient>;
beforeEach(() => {
  team = teamClient(opened);
});
const ofAda = async () => (await client().threads.create({ metadata: { user_id: "ada" } })).thread_id;

type Message = StateValues["messages"][number] & { name?: string; tool_calls?: { id: string; name: string }[]; tool_call_id?: string };
const shown = (messages: StateValues["messages"]) =>
  (messages as Message[]).map(({ type, name, content, tool_calls: calls = [] }) => [
    type,
    name ?? null,
    calls.map((call) => call.name).join() || content,
  ]);

const ALL_MODES = ["values", "updates", "messages", "messages-tuple", "custom", "tasks", "checkpoints", "debug", "tools", "events"];
const kindOf = ({ event }: SentFrame): string => event.split("|")[0] ?? "";

describe("a team in LangGraph's protocol", () => {
  beforeEach(async () => {
    await team.makeTeam({ left: { tools: ["look_up"], permissions: [{ tool: "look_up", action: "allow" }] }, right: {} });
    await team.makeTeam({ both: { subagents: ["left", "right"], team: { strategy: "parallel" } } });
    team.play({ left: [[callOf("look_up", { item: "tea" }, "look-1")], "Left says."], right: ["Right says."], both: ["Both."] });
  });

  test.each([[true], [false]])("streams every mode to its end, members under namespaces of their own: %s", async (streamSubgraphs) => {
    const threadId = await ofAda();
    for (const modes of [ALL_MODES, ...ALL_MODES.map((mode) => [mode])]) {
      const frames = await framesOf(
        client().runs.stream(threadId, "both", { input: human("Look."), streamMode: modes as never, streamSubgraphs }),
      );
      expect([modes, frames.filter(({ event }) => event === "error")]).toEqual([modes, []]);
      const root = frames.filter(({ event }) => event === "messages").map(({ data }) => JSON.stringify(data));
      expect(root.filter((data) => data.includes("Left says") || data.includes("Right says"))).toEqual([]);
      const spaces = new Set(frames.flatMap(({ event }) => /\|(left|right):/.exec(event)?.[1] ?? []));
      if (streamSubgraphs && (modes[0] === "updates" || modes.length > 1)) expect([...spaces].sort()).toEqual(["left", "right"]);
      if (!streamSubgraphs) expect([...spaces]).toEqual([]);
    }
  });

  test("shows members' calls by name in messages, the stream and the state, and tells agent and path of each call", async () => {
    const threadId = await ofAda();
    const frames = await framesOf(
      client().runs.stream(threadId, "both", { input: human("Look."), streamMode: ["values", "custom", "tools"] as never }),
    );
    const state = await client().threads.getState<StateValues>(threadId);
    expect(shown(state.values.messages)).toEqual([
      ["human", null, "Look."],
      ["ai", null, "ask_agent,ask_agent"],
      ["ai", "left", "look_up"],
      ["tool", "look_up", "12 left"],
      ["tool", "ask_agent", "Left says."],
      ["tool", "ask_agent", "Right says."],
      ["ai", null, "Both."],
    ]);
    const ids = (messages: StateValues["messages"]): string[] => messages.map(({ id }) => id).sort();
    expect(ids(lastOf(frames).messages)).toEqual(ids(state.values.messages));
    const tools = frames.filter((frame) => kindOf(frame) === "tools").map(({ data }) => data);
    expect(tools).toEqual(
      expect.arrayContaining([expect.objectContaining({ event: "on_tool_start", agent: "left", path: ["both", "left"] })]),
    );
  });

  test("interrupts for a member, and goes on in it", async () => {
    await team.makeTeam({ buyer: { tools: ["order"] }, house: { subagents: ["buyer"] } });
    team.play({
      house: [[give("buyer", "x", "task-1")], "In the house."],
      buyer: [[callOf("order", { item: "tea" }, "order-1")], "Bought."],
    });
    const threadId = await ofAda();
    const { runs, threads } = client();
    const asked = await framesOf(runs.stream(threadId, "house", { input: human("Buy."), streamMode: ["values"] }));
    expect(lastOf(asked).__interrupt__).toMatchObject([{ value: { agent: "buyer", path: ["house", "buyer"] } }]);
    const rest = await framesOf(runs.stream(threadId, "house", { command: { resume: "allow_once" }, streamMode: ["values"] }));
    const state = await threads.getState<StateValues>(threadId);
    expect(shown(state.values.messages)).toEqual([
      ["human", null, "Buy."],
      ["ai", null, "ask_agent"],
      ["ai", "buyer", "order"],
      ["tool", "order", "ordered tea"],
      ["tool", "ask_agent", "Bought."],
      ["ai", null, "In the house."],
    ]);
    expect(lastOf(rest).messages.map(({ id }) => id)).toEqual(state.values.messages.map(({ id }) => id));
  });

  test("tells a handoff, and a run of the graph keeps the agent to which the thread was handed", async () => {
    await team.makeTeam({ clerk: {}, front: { handoffs: ["clerk"] } });
    team.play({ front: [[handTo("clerk")]], clerk: ["Clerk."] });
    const threadId = await ofAda();
    const { runs, threads } = client();
    const frames = await framesOf(runs.stream(threadId, "front", { input: human("Papers."), streamMode: ["custom"] }));
    expect(frames.map(({ data }) => data)).toEqual(
      expect.arrayContaining([{ status: "handoff", content: { from: "front", to: "clerk", reason: expect.any(String) } }]),
    );
    await runs.wait(threadId, "conversation", { input: human("And now?") });
    expect((await threads.getState(threadId)).metadata).toMatchObject({ agent: "clerk" });
    await runs.wait(threadId, "assistant", { input: human("Bye.") });
    expect((await threads.getState(threadId)).metadata).toMatchObject({ agent: "assistant" });
  });
});
