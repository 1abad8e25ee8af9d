import { beforeEach, describe, expect, test } from "@jest/globals";
import { contentOf } from "../../../support/clients/event-client.ts";
import { callOf, ORDER_TOOLS, ordered, statuses } from "../../../support/services/asking-agent.ts";
import { allOf, give, teamClient } from "../../../support/services/asking-team.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";
import { openClient } from "../../openai/open-client.ts";

const opened = useServiceWithModel({}, { extras: { tools: ORDER_TOOLS } });
let team: ReturnType<typeof teamClient>;
beforeEach(() => {
  team = teamClient(opened);
  opened.model.seen.splice(0);
  ordered.length = 0;
});

const order = (item: string, id?: string) => callOf("order", { item }, id);
const ORDERS = { tools: ["order", "look_up"] };

describe("a question of a member", () => {
  test("is the turn's, and the turn goes on inside the member", async () => {
    await team.makeTeam({ buyer: ORDERS, middle: { subagents: ["buyer"] }, top: { subagents: ["middle"] } });
    team.play({ top: [[give("middle", "buy")], "Top."], middle: [[give("buyer", "buy")], "Middle."], buyer: [[order("tea")], "Bought."] });
    const asked = await team.ask("top");
    const waiting = contentOf(asked.events, "waiting");
    const path = ["top", "middle", "buyer"];
    expect(waiting.question).toMatchObject({ type: "permission", agent: "buyer", path, tool: { name: "order" } });
    expect(await team.open()).toMatchObject([{ id: waiting.question.id, path }]);
    await team.answer(waiting, { answer: "allow_once" });
    const rest = await team.rest(waiting);
    expect(allOf(rest, "tool_result").map(({ path: by, output }) => [by.length, output])).toEqual([
      [3, "ordered tea"],
      [2, "Bought."],
      [1, "Middle."],
    ]);
    expect(contentOf(rest.events, "done")).toMatchObject({ answer: "Top.", agent: "top", tool_calls: 3 });
    expect([ordered.length, team.prompts("top").length, team.prompts("middle").length, team.prompts("buyer").length]).toEqual([1, 2, 2, 2]);
    expect((await team.steps(asked)).filter(({ kind }) => kind === "question")).toMatchObject([{ agent: "buyer", path, ok: true }]);
  });

  test("comes after that of another one that works beside it, while a third goes on and finishes", async () => {
    await team.makeTeam({ first: ORDERS, second: ORDERS, third: {}, trio: { subagents: ["first", "second", "third"] } });
    team.play({
      trio: [[give("first", "x", "a"), give("second", "x", "b"), give("third", "x", "c")], "All three."],
      first: [[order("tea", "d")], "Tea."],
      second: [[order("milk", "e")], "No milk."],
      third: ["Third."],
    });
    const asked = await team.ask("trio");
    expect(allOf(asked, "tool_result").map(({ output }) => output)).toEqual(["Third."]);
    expect(allOf(asked, "permission_asked")).toHaveLength(1);
    const one = contentOf(asked.events, "waiting");
    await team.answer(one, { answer: "allow_once" });
    const between = await team.rest(one);
    const two = contentOf(between.events, "waiting");
    expect([one.question.agent, two.question.agent].sort()).toEqual(["first", "second"]);
    await team.answer(two, { answer: "deny" });
    const rest = await team.rest(two);
    expect(contentOf(rest.events, "done")).toMatchObject({ answer: "All three.", tool_calls: 5 });
    expect(ordered).toHaveLength(1);
    expect(["trio", "first", "second", "third"].map((name) => team.prompts(name).length)).toEqual([2, 2, 2, 1]);
    const results = [asked, between, rest].flatMap((leg) => allOf(leg, "tool_result"));
    expect(results.map(({ call_id }) => call_id).sort()).toEqual(["a", "b", "c", "d", "e"]);
    const prompt = team
      .prompts("trio")
      .at(-1)
      ?.messages.filter(({ role }) => role === "tool");
    expect(prompt?.map(({ tool_call_id }) => tool_call_id)).toEqual(["a", "b", "c"]);
  });

  test("is not asked again after allow_always, which counts for this member alone", async () => {
    await team.makeTeam({ trusted: ORDERS, caller: { subagents: ["trusted"], tools: ["order"] } });
    const script = { caller: [[give("trusted", "x")], [order("milk")], "Done."], trusted: [[order("tea")], "Tea."] };
    team.play(script);
    const first = contentOf((await team.ask("caller")).events, "waiting");
    await team.answer(first, { answer: "allow_always" });
    const own = contentOf((await team.rest(first)).events, "waiting");
    expect(own.question).toMatchObject({ agent: "caller", path: ["caller"], tool: { arguments: { item: "milk" } } });
    await team.answer(own, { answer: "deny" });
    expect(contentOf((await team.rest(own)).events, "done").answer).toBe("Done.");
    expect(await team.permissions()).toMatchObject([{ agent: "trusted", tool: "order" }]);
    const again = await team.ask("caller");
    expect(contentOf(again.events, "waiting").question).toMatchObject({ agent: "caller" });
    expect(ordered).toHaveLength(2);
  });

  test("about a call that repeats itself is asked for a member, too", async () => {
    await team.makeTeam({ circling: ORDERS, watching: { subagents: ["circling"] } });
    const look = [callOf("look_up", { item: "tea" })];
    team.play({ watching: [[give("circling", "x")], "Watched."], circling: [look, look, look, look, look, "Stopped."] });
    const asked = await team.ask("watching");
    expect(statuses(asked)).toEqual(expect.arrayContaining(["doom_loop_detected", "decision_asked", "waiting"]));
    const waiting = contentOf(asked.events, "waiting");
    expect(waiting.question).toMatchObject({ agent: "circling", path: ["watching", "circling"] });
    await team.answer(waiting, { answer: "stop" });
    const rest = await team.rest(waiting);
    expect(allOf(rest, "tool_result").at(-1)).toMatchObject({ path: ["watching"], output: "From what there is." });
    expect(contentOf(rest.events, "done").answer).toBe("Watched.");
  });

  test("counts as unanswered at once where nobody can be asked", async () => {
    await team.makeTeam({ silent: ORDERS, alone: { subagents: ["silent"] } });
    team.play({ alone: [[give("silent", "x")], "Alone."], silent: [[order("tea")], "Not ordered."] });
    const turn = await team.ask("alone", { interactive: false });
    expect(allOf(turn, "tool_result")).toMatchObject([
      { ok: false, output: expect.stringContaining("permission_denied") },
      { output: "Not ordered." },
    ]);
    expect(contentOf(turn.events, "done").answer).toBe("Alone.");
    expect(ordered).toEqual([]);
  });

  test("in words says who asks, and is answered in words, over OpenAI's protocol", async () => {
    await team.makeTeam({ guide: { tools: ["ask_clarification"] }, host: { subagents: ["guide"] } });
    team.play({
      host: [[give("guide", "x")], "Off we go."],
      guide: [
        [
          callOf("ask_clarification", {
            question_type: "scope",
            question: "Which harbour?",
            options: [{ label: "Porto" }, { label: "Faro" }],
          }),
        ],
        "Porto it is.",
      ],
    });
    const openai = openClient(opened.url, { headers: { "X-Session-Id": "words", "X-User-Id": "olga" } });
    const say = async (content: string) => {
      const { choices } = await openai.chat.completions.create({ model: "conversation-graph/host", messages: [{ role: "user", content }] });
      return choices[0]?.message.content;
    };
    expect(await say("Sail.")).toMatch(/^The agent "guide" asks: Which harbour\?/);
    expect(await say("Porto")).toBe("Off we go.");
    expect(JSON.stringify(team.prompts("guide").at(-1)?.messages.at(-1))).toContain("Porto");
  });
});
