import { tool } from "@langchain/core/tools";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { fromLangChainTool } from "../../../../agents/tool.ts";
import { contentOf } from "../../../support/clients/event-client.ts";
import { callOf } from "../../../support/services/asking-agent.ts";
import { allOf, give, teamClient } from "../../../support/services/asking-team.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";

let [running, most] = [0, 0];
const wait = tool(
  async ({ ms }) => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, ms));
    running--;
    return "waited";
  },
  { name: "wait", description: "Waits.", schema: z.object({ ms: z.number() }) },
);
const opened = useServiceWithModel({}, { extras: { tools: [fromLangChainTool(wait, { onlyReads: true })] } });
let team: ReturnType<typeof teamClient>;
beforeEach(() => {
  team = teamClient(opened);
  opened.model.seen.splice(0);
  [running, most] = [0, 0];
});

const waits = (count: number, ms = 5) => Array.from({ length: count }, (_, index) => callOf("wait", { ms: ms + index }, `wait-${index}`));
const WAITS = { tools: ["wait"], limits: { max_tool_calls: 1_000, max_steps: 100, timeout_s: 86_400, parallel_tools: 50 } };

describe("the limits of a lead", () => {
  test("on calls of tools count those of its members and their tasks", async () => {
    await team.makeTeam({ busy: WAITS, lead: { subagents: ["busy"], tools: ["wait"], limits: { max_tool_calls: 4 } } });
    team.play({ lead: [[give("busy", "x")], waits(2), "Sorry."], busy: [waits(2), "Waited."] });
    const turn = await team.ask("lead");
    const results = allOf(turn, "tool_result").map(({ path, ok, output }) => [
      path.length,
      ok || (JSON.parse(output) as { error: string }).error,
    ]);
    expect(results).toEqual([
      [2, true],
      [2, true],
      [1, true],
      [1, "too_many_tool_calls"],
      [1, true],
    ]);
    expect(allOf(turn, "notice")).toMatchObject([{ code: "agent_limit", message: expect.stringContaining("4 calls of tools") }]);
    expect(contentOf(turn.events, "done").answer).toBe("Sorry.");
    expect(team.prompts("lead").map(({ tools }) => tools?.length)).toEqual([2, 2, undefined]);
  });

  test("on calls of tools hold across two members side by side, and a member reads that its call was one too many", async () => {
    await team.makeTeam({
      one: WAITS,
      two: WAITS,
      pair: { subagents: ["one", "two"], team: { strategy: "parallel" }, limits: { max_tool_calls: 5 } },
    });
    team.play({ one: [waits(2), "One."], two: [waits(2), "Two."], pair: ["Pair."] });
    const turn = await team.ask("pair");
    const ofMembers = allOf(turn, "tool_result").filter(({ path }) => path.length === 2);
    expect(ofMembers.map(({ ok }) => ok).sort()).toEqual([false, true, true, true]);
    expect(contentOf(turn.events, "done").answer).toBe("Pair.");
  });

  test("on steps hold for each run of its own", async () => {
    await team.makeTeam({ stepper: WAITS, short: { subagents: ["stepper"], limits: { max_steps: 3 } } });
    team.play({ short: [[give("stepper", "x")], "Short."], stepper: [waits(1, 1), waits(1, 2), waits(1, 3), "Never."] });
    const turn = await team.ask("short");
    expect(team.prompts("stepper").map(({ tools }) => tools?.length ?? 0)).toEqual([1, 1, 0]);
    expect(allOf(turn, "tool_result").at(-1)).toMatchObject({ path: ["short"], output: "From what there is." });
    expect(allOf(turn, "notice")).toMatchObject([{ message: expect.stringContaining('"stepper" has reached its limit of 3 steps') }]);
  });

  test("on calls at the same time hold over two members side by side", async () => {
    await team.makeTeam({
      left: WAITS,
      right: WAITS,
      narrow: { subagents: ["left", "right"], team: { strategy: "parallel" }, limits: { parallel_tools: 2 } },
    });
    team.play({ left: [waits(3, 60), "L"], right: [waits(3, 60), "R"], narrow: ["Narrow."] });
    const turn = await team.ask("narrow");
    expect(allOf(turn, "tool_result").filter(({ ok }) => ok)).toHaveLength(8);
    expect(most).toBe(2);
  });

  test("on time end a member's call, and the lead answers", async () => {
    await team.makeTeam({ slow: WAITS, hasty: { subagents: ["slow"], limits: { timeout_s: 1 } } });
    team.play({ hasty: [[give("slow", "x")], "Too late."], slow: [waits(1, 20_000), "It took too long."] });
    const began = performance.now();
    const turn = await team.ask("hasty");
    expect(performance.now() - began).toBeLessThan(6_000);
    expect(contentOf(turn.events, "done").answer).toBe("Too late.");
    expect(allOf(turn, "tool_result").at(-1)).toMatchObject({ path: ["hasty"], name: "ask_agent" });
    expect(team.prompts("hasty").map(({ tools }) => tools?.length)).toEqual([1, undefined]);
  });
});
