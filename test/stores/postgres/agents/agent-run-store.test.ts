import { expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { OwnedConversation } from "../../../../turn/owner.ts";
import { makeAgentRunStore } from "../../../../stores/postgres/agents/agent-run-store.ts";
import { type AgentRun, makeStepStore } from "../../../../stores/postgres/agents/step-store.ts";
import { makeForkStore } from "../../../../stores/postgres/conversations/fork-store.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { tablesHolding } from "../../../support/databases/scan-tables.ts";
import { sampleAnswer } from "../../../support/samples/sample-turns.ts";

const DID: AgentRun = { task: 0, path: ["lead"], ok: true, toolCalls: 1, tokens: 10, cost: null, ms: 20 };
const EVER = { from: new Date(0), to: new Date(Date.now() + 86_400_000) };
const ALL = { limit: 50, before: null };

describeStores("what agents did", (stores) => {
  const { database, begin, turns, messagesOf, erases } = stores;
  const [steps, runs, forks] = [makeStepStore(database), makeAgentRunStore(database), makeForkStore(database)];
  const newOwner = () => ({ tenantId: `tenant ${uuidv7()}`, userId: `user ${uuidv7()}` });

  /** A turn of the lead, who has members do these tasks. */
  async function turnOf(at: { tenantId: string; userId: string; sessionId: string }, message: string, tasks: string[], taken: object = {}) {
    const held = await begin({ ...at, message, ...taken });
    for (const [index, task] of tasks.entries()) {
      const seq = index * 2 + 1;
      const given = { seq, agent: "lead", kind: "tool", name: "ask_agent", arguments: { agent: "member", task } } as const;
      await steps.begin(held, [given]);
      const run = {
        ...DID,
        task: seq,
        path: ["lead", "member"],
        ok: !task.startsWith("bad"),
        ms: 30,
        cost: { input_usd: 0.5, output_usd: 0.25 },
      };
      await steps.noteAgent(held, { name: "member", interaction: "task", state: `input: ${task} | output: did ${task}`, run });
      await steps.end(held, { seq, output: `did ${task}`, ok: true, tokens: 3 });
    }
    await steps.noteAgent(held, { name: "lead", interaction: "answered", state: null, run: DID });
    await turns.finish(held, sampleAnswer({ content: `answer to ${message}`, userMessageId: held.messageId }));
    return held;
  }
  const start = () => ({ ...newOwner(), sessionId: uuidv7() });
  const tasksOf = async (of: OwnedConversation) => (await runs.lastTasks(of, "member", uuidv7())).map(({ input }) => input);
  const inputsOf = async (of: OwnedConversation, agent = "member") => (await runs.history(of, agent, ALL)).map(({ input }) => input);

  test("a member's last two tasks are told, oldest first, cut to 1,000 characters, and none of the turn that runs", async () => {
    const at = start();
    const long = "y".repeat(1_500);
    await turnOf(at, "one", ["first"]);
    const conversation = await turnOf(at, "two", ["second", long]);
    expect(await runs.lastTasks(conversation, "member", uuidv7())).toEqual([
      { input: "second", output: "did second" },
      { input: "y".repeat(1_000), output: `did ${long}`.slice(0, 1_000) },
    ]);
    expect(await runs.lastTasks(conversation, "member", conversation.turnId)).toEqual([{ input: "first", output: "did first" }]);
    expect(await runs.lastTasks(conversation, "lead", uuidv7())).toEqual([]);
    const elsewhere = await turnOf({ ...at, sessionId: uuidv7() }, "three", []);
    expect(await tasksOf(elsewhere)).toEqual([]);
  });

  test("of the same turn a member knows the tasks that had ended when its own began, and of parallel ones none", async () => {
    const held = await begin(start());
    const give = (seq: number) => ({ seq, agent: "lead", kind: "tool", name: "ask_agent", arguments: { task: `task ${seq}` } }) as const;
    const run = (task: number) => ({ name: "member", interaction: "task", state: null, run: { ...DID, task, path: ["lead", "member"] } });
    await steps.begin(held, [give(1), give(2)]);
    await steps.noteAgent(held, run(1));
    await steps.end(held, { seq: 1, output: "done", ok: true, tokens: 1 });
    await steps.begin(held, [give(3)]);
    expect(await runs.lastTasks(held, "member", held.turnId, 3)).toEqual([{ input: "task 1", output: "done" }]);
    expect(await runs.lastTasks(held, "member", held.turnId, 2)).toEqual([]);
  });

  test("a history has the newest first, the task or the message, and goes on behind its cursor", async () => {
    const at = start();
    await turnOf(at, "one", ["first", "bad second"]);
    const conversation = await turnOf(at, "two", ["third"]);
    const all = await runs.history(conversation, "member", ALL);
    expect(all.map(({ input, output, ok }) => [input, output, ok])).toEqual([
      ["third", "did third", true],
      ["bad second", "did bad second", false],
      ["first", "did first", true],
    ]);
    expect(all[0]).toMatchObject({ turnId: conversation.turnId, path: ["lead", "member"], toolCalls: 1, tokens: 10, ms: 30, isMore: true });
    const [first, second] = all;
    if (!first || !second) throw new Error("three runs were stored");
    const before = { createdAt: second.at, id: second.turnId, task: second.task };
    expect((await runs.history(conversation, "member", { limit: 2, before })).map(({ input }) => input)).toEqual(["first"]);
    expect((await runs.history(conversation, "lead", ALL)).map(({ input, output }) => [input, output])).toEqual([
      ["two", "answer to two"],
      ["one", "answer to one"],
    ]);
  });

  test("a page of a history has at most its bytes, and at least one run", async () => {
    const at = start();
    const conversation = await turnOf(at, "large", ["a".repeat(3_000_000), "b".repeat(3_000_000)]);
    const page = await runs.history(conversation, "member", ALL);
    expect(page.map(({ input, isMore }) => [input[0], isMore])).toEqual([["b", true]]);
  });

  test("a fork and a branch see what was done on their path only", async () => {
    const at = start();
    const origin = await turnOf(at, "one", ["first"]);
    const [, answer] = await messagesOf(origin);
    await turnOf(at, "two", ["second"]);
    const sessionId = uuidv7();
    const forked = { ...origin, conversationId: await forks.fork({ ...origin, at: answer?.id ?? "", sessionId }) };
    expect([await tasksOf(forked), await inputsOf(forked)]).toEqual([["first"], ["first"]]);
    await turnOf({ ...at, sessionId }, "other", ["third"]);
    expect([await tasksOf(forked), await inputsOf(forked, "lead")]).toEqual([
      ["first", "third"],
      ["other", "one"],
    ]);
    expect(await tasksOf(origin)).toEqual(["first", "second"]);
    const [, , second] = await messagesOf(origin);
    await turnOf(at, "zwei", ["fourth"], { editOf: second?.id });
    expect([await tasksOf(origin), await inputsOf(origin)]).toEqual([
      ["first", "fourth"],
      ["fourth", "first"],
    ]);
  });

  test("figures count a tenant's own runs of the period, and have no rate without one", async () => {
    const at = start();
    const { tenantId } = at;
    await turnOf(at, "one", ["first", "bad second"]);
    await turnOf({ ...start() }, "foreign", ["third"]);
    const day = new Date().toISOString().slice(0, 10);
    const cost = { input_usd: 1, output_usd: 0.5 };
    expect(await runs.stats(tenantId, "member", EVER)).toEqual({
      ...{ invocations: 2, asMember: 2, successRate: 0.5, avgMs: 30, p95Ms: 30, toolCalls: 2, tokens: 20, cost },
      byDay: [{ day, invocations: 2, successRate: 0.5, tokens: 20, cost }],
    });
    expect(await runs.stats(tenantId, "lead", EVER)).toMatchObject({ invocations: 1, asMember: 0, cost: null });
    const nothing = {
      invocations: 0,
      asMember: 0,
      successRate: null,
      avgMs: null,
      p95Ms: null,
      toolCalls: 0,
      tokens: 0,
      cost: null,
      byDay: [],
    };
    expect(await runs.stats(tenantId, "member", { from: new Date(0), to: new Date(1) })).toEqual(nothing);
    expect(await runs.stats(newOwner().tenantId, "member", EVER)).toEqual(nothing);
  });

  test("a run that is noted again after a lost reply is one run", async () => {
    const held = await begin(start());
    for (const tokens of [10, 12])
      await steps.noteAgent(held, { name: "lead", interaction: "answered", state: null, run: { ...DID, tokens } });
    expect(await runs.stats(held.tenantId, "lead", EVER)).toMatchObject({ invocations: 1, tokens: 12 });
  });

  test("nobody else sees a history, and an erase of an exchange, a conversation or a user leaves nothing of it", async () => {
    const at = start();
    const [canary, other] = [`canary${uuidv7()}`, `canary${uuidv7()}`];
    await turnOf(at, "one", [canary]);
    const conversation = await turnOf(at, "two", [other]);
    const stranger = { ...newOwner(), conversationId: conversation.conversationId };
    expect([await runs.history(stranger, "member", ALL), await tasksOf(stranger)]).toEqual([[], []]);
    const [first] = await messagesOf(conversation);
    await erases.episode(at, first?.id ?? "");
    expect(await inputsOf(conversation)).toEqual([other]);
    expect(await tablesHolding(database, canary)).toEqual({});
    expect((await steps.agents(conversation)).map(({ stateDescription }) => stateDescription)).toEqual([null, null]);
    await erases.conversation(conversation);
    expect(await tablesHolding(database, conversation.turnId)).not.toHaveProperty(["public.agent_runs"]);
    expect(await tablesHolding(database, other)).toEqual({});
    const last = await turnOf({ ...at, sessionId: uuidv7() }, "three", [other]);
    await erases.user(at);
    expect(await tablesHolding(database, other)).toEqual({});
    expect(await runs.stats(last.tenantId, "member", EVER)).toMatchObject({ invocations: 0 });
  });

  test("an erase of a fork takes what its agents did for a question that it shared", async () => {
    const at = start();
    const canary = `canary${uuidv7()}`;
    const origin = await turnOf(at, "one", []);
    const sessionId = uuidv7();
    const forked = { ...origin, conversationId: await forks.fork({ ...origin, at: null, sessionId }) };
    const [, answer] = await messagesOf(origin);
    await turnOf({ ...at, sessionId }, "", [canary], { regenerate: answer?.id });
    expect(await inputsOf(forked)).toEqual([canary]);
    expect(await inputsOf(origin)).toEqual([]);
    await erases.conversation(forked);
    expect(await tablesHolding(database, canary)).toEqual({});
  });

  test("an erase of a branch takes what agents did on it", async () => {
    const at = start();
    const canary = `canary${uuidv7()}`;
    const conversation = await turnOf(at, "one", ["first"]);
    const [question] = await messagesOf(conversation);
    await turnOf(at, "eins", [canary], { editOf: question?.id });
    const [left] = (await stores.branches.list(conversation)).filter(({ isActive }) => isActive);
    await stores.branches.activate(conversation, conversation.conversationId);
    await erases.branch(conversation, left?.id ?? "", { withChildren: false });
    expect(await tablesHolding(database, canary)).toEqual({});
    expect(await inputsOf(conversation)).toEqual(["first"]);
  });
});
