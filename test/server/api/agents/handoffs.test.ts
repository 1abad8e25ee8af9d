import { beforeEach, describe, expect, test } from "@jest/globals";
import { callApi } from "../../../support/clients/api-client.ts";
import { contentOf } from "../../../support/clients/event-client.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { tablesHolding } from "../../../support/databases/scan-tables.ts";
import { callOf, ORDER_TOOLS, ordered, statuses } from "../../../support/services/asking-agent.ts";
import { allOf, give, handTo, teamClient } from "../../../support/services/asking-team.ts";
import { openServiceWithModel } from "../../../support/services/service-with-model.ts";
import { openClient } from "../../openai/open-client.ts";
import { useOpened } from "../../../support/use-opened.ts";

const database = useTestPostgres();
const opened = useOpened(() => openServiceWithModel({ DATABASE_URL: database.url }, { extras: { tools: ORDER_TOOLS } }));
let team: ReturnType<typeof teamClient>;
beforeEach(() => {
  team = teamClient(opened);
  opened.model.seen.splice(0);
  ordered.length = 0;
});

const activeAgent = async (id: string): Promise<unknown> =>
  (await callApi<{ active_agent: string | null }>(`${opened.url}/api/v1/conversations/${id}`)).json.active_agent;
/** A turn that names no agent. */
const unnamed = (session_id: string, message = "And now?") => team.ask("", { session_id, message, agent: undefined });
const doneOf = ({ events }: Parameters<typeof statuses>[0]) => contentOf(events, "done");

describe("a handoff", () => {
  test("lets the other agent answer the rest of the turn and the next turns, until a turn names an agent", async () => {
    await team.makeTeam({ clerk: {}, front: { handoffs: ["clerk"] } });
    team.play({ front: [[handTo("clerk", "It is about papers.")], "Front."], clerk: ["Clerk here."] });
    const turn = await team.ask("front", { session_id: "papers" });
    expect(statuses(turn)).toEqual(["route_decision", "tool_call", "tool_result", "handoff", "token", "done"]);
    expect(contentOf(turn.events, "handoff")).toEqual({ from: "front", to: "clerk", reason: "It is about papers." });
    expect(doneOf(turn)).toMatchObject({ answer: "Clerk here.", agent: "clerk" });
    const { conversation_id: id } = doneOf(turn);
    expect(await activeAgent(id)).toBe("clerk");
    expect(doneOf(await unnamed("papers")).agent).toBe("clerk");
    expect(await activeAgent(id)).toBe("clerk");
    expect(doneOf(await unnamed("elsewhere")).agent).toBe("assistant");
    team.play({ front: ["Front."] });
    expect(doneOf(await team.ask("front", { session_id: "papers" })).agent).toBe("front");
    expect(await activeAgent(id)).toBeNull();
    expect(doneOf(await unnamed("papers")).agent).toBe("assistant");
  });

  test("waits for a call of the same answer that somebody allows", async () => {
    await team.makeTeam({ heir: {}, both: { tools: ["order"], handoffs: ["heir"] } });
    team.play({ both: [[handTo("heir"), callOf("order", { item: "ink" })]], heir: ["Heir here."] });
    const asked = await team.ask("both", { session_id: "beside" });
    expect(allOf(asked, "handoff")).toEqual([]);
    await team.answer(contentOf(asked.events, "waiting"), { answer: "allow_once" });
    const rest = await team.rest(contentOf(asked.events, "waiting"));
    expect(doneOf(rest)).toMatchObject({ answer: "Heir here.", agent: "heir" });
    expect(ordered).toHaveLength(1);
  });

  test("counts for a message that waits in line meanwhile", async () => {
    await team.makeTeam({ next: {}, slow: { handoffs: ["next"] } });
    let go: () => void = () => undefined;
    const until = new Promise<void>((resolve) => (go = resolve));
    team.play({ slow: [[handTo("next")]], next: [{ tokens: ["Next."], until }] });
    const first = team.ask("slow", { session_id: "line" });
    while (team.prompts("next").length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    const second = team.ask("", { session_id: "line", message: "And?", agent: undefined, on_busy: "enqueue" });
    await new Promise((resolve) => setTimeout(resolve, 300)); // it is in line
    go();
    const { conversation_id: id } = doneOf(await first);
    expect(doneOf(await second).agent).toBe("next");
    expect(await activeAgent(id)).toBe("next");
  });

  test("to an agent that had the turn already is refused, and that agent reads why", async () => {
    await team.makeTeam({ ping: {}, pong: { handoffs: ["ping"] } });
    await team.makeTeam({ ping: { handoffs: ["pong"] } });
    team.play({ ping: [[handTo("pong")], "Ping."], pong: [[handTo("ping")], "Pong stays."] });
    const turn = await team.ask("ping", { session_id: "fro" });
    expect(allOf(turn, "handoff").map(({ from, to }) => [from, to])).toEqual([["ping", "pong"]]);
    expect(allOf(turn, "tool_result").map(({ agent, ok, output }) => [agent, ok, output.includes("handed_to_and_fro")])).toEqual([
      ["ping", true, false],
      ["pong", false, true],
    ]);
    expect(doneOf(turn)).toMatchObject({ answer: "Pong stays.", agent: "pong" });
    team.play({ pong: [[handTo("ping")]], ping: ["Ping again."] });
    const next = await unnamed("fro"); // in the next turn it may
    expect(doneOf(next)).toMatchObject({ answer: "Ping again.", agent: "ping" });
    expect(await activeAgent(doneOf(next).conversation_id)).toBe("ping");
  });

  test("comes after a question, and the agent that takes over may ask itself", async () => {
    await team.makeTeam({ buyer: { tools: ["order"] }, guard: { tools: ["order"], handoffs: ["buyer"] } });
    team.play({
      guard: [[callOf("order", { item: "tea" })], [handTo("buyer")]],
      buyer: ["-", [callOf("order", { item: "milk" })], "All bought."], // it reads the call before
    });
    const one = contentOf((await team.ask("guard", { session_id: "bought" })).events, "waiting");
    await team.answer(one, { answer: "allow_once" });
    const between = await team.rest(one);
    expect(statuses(between)).toEqual(expect.arrayContaining(["handoff", "permission_asked"]));
    const two = contentOf(between.events, "waiting");
    expect(two.question).toMatchObject({ agent: "buyer", path: ["buyer"], tool: { arguments: { item: "milk" } } });
    await team.answer(two, { answer: "allow_once" });
    const rest = await team.rest(two);
    expect(doneOf(rest)).toMatchObject({ answer: "All bought.", agent: "buyer", tool_calls: 3 });
    expect(ordered).toHaveLength(2);
    expect(await activeAgent(doneOf(rest).conversation_id)).toBe("buyer");
  });

  test("can be made to ask, and is not made when somebody denies it", async () => {
    await team.makeTeam({ desk: {}, door: { handoffs: ["desk"], permissions: [{ tool: "handoff_to", action: "ask" }] } });
    team.play({ door: [[handTo("desk")], "I stay."], desk: ["Desk."] });
    const denied = contentOf((await team.ask("door")).events, "waiting");
    expect(denied.question).toMatchObject({ type: "permission", agent: "door", tool: { name: "handoff_to" } });
    await team.answer(denied, { answer: "deny" });
    const stays = await team.rest(denied);
    expect(doneOf(stays)).toMatchObject({ answer: "I stay.", agent: "door" });
    expect(await activeAgent(doneOf(stays).conversation_id)).toBeNull();
    const allowed = contentOf((await team.ask("door")).events, "waiting");
    await team.answer(allowed, { answer: "allow_once" });
    const rest = await team.rest(allowed);
    expect(allOf(rest, "handoff")).toHaveLength(1);
    expect(doneOf(rest)).toMatchObject({ answer: "Desk.", agent: "desk" });
  });

  test("is not offered to members, and a deleted agent no longer answers", async () => {
    await team.makeTeam({
      away: {},
      member: { handoffs: ["away"], tools: ["look_up"] },
      chief: { subagents: ["member"], handoffs: ["away"] },
    });
    team.play({ chief: [[give("member", "x")], [handTo("away")]], member: ["Done."], away: ["Away."] });
    const turn = await team.ask("chief", { session_id: "away" });
    expect(team.prompts("member")[0]?.tools?.map(({ function: { name } }) => name)).toEqual(["look_up"]);
    expect(doneOf(turn).agent).toBe("away");
    await callApi(`${opened.url}/api/v1/agents/away`, { method: "DELETE" });
    expect(doneOf(await unnamed("away")).agent).toBe("assistant");
  });
});

describe("what a team leaves behind", () => {
  const script = (word: string) => ({
    boss: [[give("worker", `task-${word}`)], [handTo("heir", `reason-${word}`)]],
    worker: [[callOf("look_up", { item: `call-${word}` })], `result-${word}`],
    heir: [`answer-${word}`],
  });
  beforeEach(() => team.makeTeam({ worker: { tools: ["look_up"] }, heir: {}, boss: { subagents: ["worker"], handoffs: ["heir"] } }));

  test("is erased with its conversation", async () => {
    team.play(script("xylophone"));
    const turn = await team.ask("boss", { message: "Say xylophone." });
    expect(Object.keys(await tablesHolding(database, "xylophone"))).toEqual(
      expect.arrayContaining(["public.conversation_agents", "public.turn_steps", "public.messages"]),
    );
    const { conversation_id: id } = doneOf(turn);
    expect((await callApi(`${opened.url}/api/v1/conversations/${id}`, { method: "DELETE" })).status).toBe(200);
    expect(await tablesHolding(database, "xylophone")).toEqual({});
    expect(await tablesHolding(database, id)).toEqual({});
  });

  test("holds no words when the turn is not stored", async () => {
    team.play(script("zeppelin"));
    const openai = openClient(opened.url, { headers: { "X-User-Id": "zoe" } });
    const input = "Say zeppelin.";
    const response = await openai.responses.create({ model: "conversation-graph/boss", input, store: false });
    expect(response.output_text).toBe("answer-zeppelin");
    expect(await tablesHolding(database, "zeppelin")).toEqual({});
  });
});
