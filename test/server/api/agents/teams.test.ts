import { beforeEach, describe, expect, test } from "@jest/globals";
import { makeSummaryStore } from "../../../../stores/postgres/memory/summary-store.ts";
import { callApi, postJson } from "../../../support/clients/api-client.ts";
import { contentOf } from "../../../support/clients/event-client.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { ORDER_TOOLS } from "../../../support/services/asking-agent.ts";
import { allOf, give, teamClient } from "../../../support/services/asking-team.ts";
import { openServiceWithModel } from "../../../support/services/service-with-model.ts";
import { useOpened } from "../../../support/use-opened.ts";

const database = useTestPostgres();
const opened = useOpened(() =>
  openServiceWithModel(
    {
      DATABASE_URL: database.url,
      ENABLE_CORE_MEMORY: "true",
      MEMORY_MODEL: "test-chat",
      ENABLE_EPISODIC_MEMORY: "true",
      EMBEDDING_MODEL: "built-in",
    },
    { extras: { tools: ORDER_TOOLS } },
  ),
);
const asJson = (body: object) => ({ headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
let team: ReturnType<typeof teamClient>;
beforeEach(() => {
  team = teamClient(opened);
  opened.model.seen.splice(0);
});

describe("members of a team", () => {
  test("work three deep, with the path of each in its events and steps", async () => {
    await team.makeTeam({ d: {}, c: { subagents: ["d"] }, b: { subagents: ["c"] }, lead: { subagents: ["b"] } });
    team.play({
      lead: [[give("b", "to b")], "All done."],
      b: [[give("c", "to c")], "B did."],
      c: [[give("d", "to d")], "C did."],
      d: ["D did."],
    });
    const turn = await team.ask("lead");
    const paths = [["lead"], ["lead", "b"], ["lead", "b", "c"]];
    expect(allOf(turn, "tool_call").map(({ agent, path }) => [agent, path])).toEqual(paths.map((path) => [path.at(-1), path]));
    expect(allOf(turn, "tool_result").map(({ path, output, ok }) => [path, output, ok])).toEqual([
      [paths[2], "D did.", true],
      [paths[1], "C did.", true],
      [paths[0], "B did.", true],
    ]);
    expect(contentOf(turn.events, "done")).toMatchObject({ answer: "All done.", agent: "lead", tool_calls: 3 });
    const steps = await team.steps(turn);
    expect(steps.find(({ agent }) => agent === "d")).toMatchObject({ path: ["lead", "b", "c", "d"], kind: "model", output: "D did." });
    expect(steps.map(({ seq }) => seq)).toEqual(steps.map((_, index) => index + 1));
    const { conversation_id: id } = contentOf(turn.events, "done");
    const { json } = await callApi<{ agents: { agent: string; state_description: string }[] }>(
      `${opened.url}/api/v1/conversations/${id}/agents`,
    );
    expect(json.agents.map(({ agent }) => agent).sort()).toEqual(["b", "c", "d", "lead"]);
    expect(json.agents.find(({ agent }) => agent === "d")?.state_description).toBe("input: to d | output: D did.");
  });

  test("are refused when they are on the path already, and the turn goes on", async () => {
    await team.makeTeam({ one: {}, two: { subagents: ["one"] } });
    await team.makeTeam({ one: { subagents: ["two"] } });
    team.play({ one: [[give("two", "first")], "One answers."], two: [[give("one", "back")], "Two could not."] });
    const turn = await team.ask("one");
    const [refused, given] = allOf(turn, "tool_result");
    expect(refused).toMatchObject({ path: ["one", "two"], ok: false, output: expect.stringContaining("agent_on_path") });
    expect(given).toMatchObject({ path: ["one"], ok: true, output: "Two could not." });
    expect(contentOf(turn.events, "done").answer).toBe("One answers.");
  });

  test.each([
    ["the lead's own", 1, 3],
    ["that of a member", 3, 0],
  ])("are refused below the narrowest number of levels: %s", async (_whose, ofLead, ofMember) => {
    const limits = (max_depth: number) => ({ limits: { max_depth: Math.max(1, max_depth) } });
    const chain = ofMember === 0 ? ["lead", "b", "c", "d"] : ["lead", "b", "c"];
    await team.makeTeam({
      d: {},
      c: { subagents: ["d"] },
      b: { subagents: ["c"], ...limits(ofMember) },
      lead: { subagents: ["b"], ...limits(ofLead) },
    });
    team.play({ lead: [[give("b", "x")], "L"], b: [[give("c", "x")], "B"], c: [[give("d", "x")], "C"], d: ["D"] });
    const turn = await team.ask("lead");
    const refused = allOf(turn, "tool_result").filter(({ ok }) => !ok);
    expect(refused.map(({ path, output }) => [path, output.includes("too_deep")])).toEqual([[chain.slice(0, -1), true]]);
    expect(contentOf(turn.events, "done").answer).toBe("L");
  });

  test.each(["none", "summary", "memory"])("see of the conversation beside their task what their team shares: %s", async (share) => {
    await team.makeTeam({ reader: {}, [`sharing-${share}`]: { subagents: ["reader"], team: { share } } });
    await callApi(`${opened.url}/api/v1/users/ada/core-memory/profile`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ content: "Her boat is the Argo." }),
    });
    const session_id = `share-${share}`;
    opened.model.answer({ tokens: ["Noted."] });
    const first = await team.ask("assistant", { session_id, message: `We spoke of herrings-${share}.` });
    const conversation = { tenantId: "default", userId: "ada", conversationId: contentOf(first.events, "done").conversation_id };
    const summaries = makeSummaryStore(database);
    const { messages, rewrites } = await summaries.readBacklog(conversation, 1);
    const [{ id, createdAt }] = messages as [(typeof messages)[number]];
    const summary = { readVersion: 0, text: "They plan a voyage.", tokenCount: 5, addedMessageCount: 1, rewrites };
    expect(await summaries.save(conversation, { ...summary, coveredThrough: { id, createdAt } })).toBe(true);
    team.play({ [`sharing-${share}`]: [[give("reader", "Read this.")], "Read."], reader: ["It is read."] });
    await team.ask(`sharing-${share}`, { session_id, message: `Have ${share} read.` });
    const [prompt] = team.prompts("reader");
    const words = JSON.stringify(prompt?.messages);
    const sees = {
      summary: words.includes("plan a voyage"),
      memory: words.includes("Argo"),
      talk: words.includes(`herrings-${share}`) || words.includes(`Have ${share} read`),
    };
    expect(sees).toEqual({ summary: share !== "none", memory: share === "memory", talk: false });
    expect(prompt?.messages.at(-1)?.content).toMatch(/(^|\n)Read this\.$/);
  });

  test("remember their last two tasks of the conversation, and write no memory", async () => {
    await team.makeTeam({ worker: { tools: ["*"] }, head: { subagents: ["worker"], tools: ["*"] } });
    for (const number of ["one", "two", "three", "four"]) {
      team.play({ head: [[give("worker", `Task ${number}.`)], "Done."], worker: [`Result ${number}.`] });
      await team.ask("head", { session_id: "remembering" });
    }
    const prompt = team.prompts("worker").at(-1);
    const message = prompt?.messages.at(-1)?.content ?? "";
    expect(
      ["one", "two", "three", "four"].map((number) => [message.includes(`Task ${number}.`), message.includes(`Result ${number}.`)]),
    ).toEqual([
      [false, false],
      [true, true],
      [true, true],
      [true, false],
    ]);
    const offered = (name: string) => team.prompts(name)[0]?.tools?.map(({ function: tool }) => tool.name) ?? [];
    expect(offered("head")).toEqual(expect.arrayContaining(["memory_save", "core_memory_update"]));
    expect(offered("worker")).toContain("memory_search");
    expect(offered("worker").filter((name) => name === "memory_save" || name === "core_memory_update")).toEqual([]);
  });

  test("that work on two models count for the turn and for themselves", async () => {
    await team.makeTeam({ counted: {}, counting: { subagents: ["counted"] } });
    team.play({
      counting: [[give("counted", "x")], { tokens: ["L"], promptTokens: 50 }],
      counted: [{ tokens: ["a ", "b"], promptTokens: 7 }],
    });
    const turn = await team.ask("counting");
    const { usage } = contentOf(turn.events, "done");
    expect(usage).toMatchObject({ prompt_tokens: 157, estimated: false });
    const stats = async (name: string) => (await callApi(`${opened.url}/api/v1/agents/${name}/stats`)).json;
    expect(await stats("counted")).toMatchObject({ invocations: 1, as_member: 1, tokens: 9, success_rate: 1 });
    expect(await stats("counting")).toMatchObject({ invocations: 1, as_member: 0, tokens: usage.total_tokens - 9, tool_calls: 1 });
  });
});

describe("a strategy", () => {
  test("sequential gives every member in order the message and what the one before said, and the lead answers", async () => {
    await team.makeTeam({ z: {}, a: {}, line: { subagents: ["z", "a"], team: { strategy: "sequential" } } });
    team.play({ z: ["Z says so."], a: ["A adds."], line: ["Summed up."] });
    const turn = await team.ask("line", { message: "Plan it." });
    expect(allOf(turn, "tool_call").map(({ name, arguments: given }) => [name, given])).toEqual([
      ["ask_agent", { agent: "z", task: "Plan it." }],
      ["ask_agent", { agent: "a", task: "Plan it.", context: "Z says so." }],
    ]);
    expect(team.prompts("a")[0]?.messages.at(-1)?.content).toContain("Z says so.");
    expect(team.prompts("line")).toHaveLength(1);
    expect(contentOf(turn.events, "done")).toMatchObject({ answer: "Summed up.", agent: "line" });
  });

  test("parallel gives every member the message at once", async () => {
    await team.makeTeam({ left: {}, right: {}, both: { subagents: ["left", "right"], team: { strategy: "parallel" } } });
    let begin: () => void = () => undefined;
    const until = new Promise<void>((resolve) => (begin = resolve));
    team.play({ left: [{ tokens: ["Left."], until }], right: ["Right."], both: ["Both."] });
    const asked = team.ask("both", { message: "Look." });
    while (team.prompts("right").length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    begin();
    expect(allOf(await asked, "tool_result").map(({ output }) => output)).toEqual(["Right.", "Left."]);
    expect(JSON.stringify(team.prompts("both").at(-1)?.messages)).toMatch(/Left\..*Right\./);
  });

  test("of a member passes on its task, and not the user's message or what it does not see itself", async () => {
    await team.makeTeam({
      deep: {},
      middle: { subagents: ["deep"], team: { strategy: "sequential", share: "memory" } },
      top: { subagents: ["middle"] },
    });
    const session_id = "nested";
    team.play({
      assistant: ["Noted."],
      top: [[give("middle", "Count the oars.")], "Counted."],
      middle: ["Middle did."],
      deep: ["Deep did."],
    });
    const { conversation_id } = contentOf((await team.ask("assistant", { session_id, message: "Talk of gannets." })).events, "done");
    await callApi(`${opened.url}/api/v1/users/ada/core-memory/profile`, { method: "PUT", ...asJson({ content: "Keeps a heron." }) });
    const turn = await team.ask("top", { session_id, message: "The user's own words." });
    expect(contentOf(turn.events, "done")).toMatchObject({ answer: "Counted.", conversation_id });
    const words = JSON.stringify(team.prompts("deep").at(-1)?.messages);
    expect(words).toContain("Count the oars.");
    expect(words).not.toMatch(/own words|heron|gannets/);
  });

  test("single lets the member that fits answer the turn, within the limits of the lead, also after a question", async () => {
    await team.makeTeam({
      sailor: { description: "Boats", keywords: ["boat"], tools: ["order"], limits: { max_tool_calls: 9 } },
      baker: { description: "Bread", keywords: ["bread"] },
      chooser: { subagents: ["sailor", "baker"], team: { strategy: "single" }, limits: { max_tool_calls: 1 } },
    });
    const order = [{ name: "order", arguments: { item: "rope" } }];
    team.play({ sailor: [order, order, "Aye."], baker: ["Crumbs."], chooser: ["Nobody fits."] });
    const asked = await team.ask("chooser", { message: "Fit out the boat." });
    const waiting = contentOf(asked.events, "waiting");
    expect(waiting.question).toMatchObject({ agent: "sailor", path: ["chooser", "sailor"] });
    await team.answer(waiting, { answer: "allow_once" });
    const rest = await team.rest(waiting);
    expect(contentOf(rest.events, "done")).toMatchObject({ answer: "From what there is.", agent: "sailor", tool_calls: 1 });
    expect(allOf(rest, "notice").map(({ code, message }) => [code, message.includes("1 calls")])).toEqual([["agent_limit", true]]);
    expect((await team.steps(asked)).every(({ path }) => path.join() === "chooser,sailor")).toBe(true);
    const other = await team.ask("chooser", { message: "Fine weather today, is it?" });
    expect(contentOf(other.events, "done")).toMatchObject({ answer: "Nobody fits.", agent: "chooser" });
    const { json } = await postJson<{ matches: { agent: string }[] }>(`${opened.url}/api/v1/agents/match`, {
      user_id: "ada",
      message: "Bake bread.",
    });
    expect(json.matches[0]?.agent).toBe("baker");
  });
});
