import { beforeEach, describe, expect, test } from "@jest/globals";
import { runMemoryJobs } from "../../../../memory/run-memory-jobs.ts";
import { findResidualData } from "../../../../memory/erase/find-residual-data.ts";
import { callApi } from "../../../support/clients/api-client.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { askingClient, callOf, ORDER_TOOLS, statuses } from "../../../support/services/asking-agent.ts";
import { openServiceWithModel } from "../../../support/services/service-with-model.ts";
import { useOpened } from "../../../support/use-opened.ts";
import { waitUntil } from "../../../support/wait-until.ts";

const TEA = { item: "tea" };
const tea = callOf("order", TEA);

interface Decided {
  id: string;
  question: string | null;
  text: string | null;
  turn_id: string | null;
}

function useAskingService(environment: Record<string, string> = {}) {
  const database = useTestPostgres();
  const opened = useOpened(() => openServiceWithModel({ DATABASE_URL: database.url, ...environment }, { extras: { tools: ORDER_TOOLS } }));
  const list = async (userId: string, query = ""): Promise<{ decisions: Decided[]; next: string | null }> =>
    (await callApi<{ decisions: Decided[]; next: string | null }>(`${opened.url}/api/v1/users/${userId}/decisions${query}`)).json;
  const erase = async (path: string): Promise<void> =>
    expect((await callApi(`${opened.url}/api/v1/${path}`, { method: "DELETE" })).status).toBe(200);
  return { database, opened, list, erase };
}

describe("a user's list of decisions", () => {
  const { database, opened, list, erase } = useAskingService();
  let client: ReturnType<typeof askingClient>;
  beforeEach(async () => {
    client = askingClient(opened);
    client.follow([tea], "Done.");
    await database.query({ text: "delete from decisions" });
    await database.query({ text: "delete from permissions" });
  });

  /** One turn with an answer; what was decided last. */
  async function decide(answer: object) {
    const waiting = await client.untilWaiting("asks");
    await client.answer(waiting, answer);
    await client.rest(waiting);
    return { waiting, last: (await list("ada")).decisions[0] };
  }

  test("shows who answered what, when and for which arguments", async () => {
    await client.makeAgent("asks");
    const before = new Date();
    const { waiting, last } = await decide({ answer: "deny", text: "Too dear." });
    const { question, turn_id, conversation_id } = waiting;
    expect(last).toEqual({
      ...{ id: question.id, type: "permission", agent: "asks", question: question.question, tool: { name: "order", arguments: TEA } },
      ...{ answer: "deny", text: "Too dear.", by: "person", rule: null, turn_id, conversation_id, decided_at: expect.any(String) },
    });
    expect(Date.parse(String((last as unknown as { decided_at: string }).decided_at))).toBeGreaterThanOrEqual(before.getTime() - 1_000);

    await decide({ answer: "allow_always" });
    expect(statuses(await client.ask("asks")).at(-1)).toBe("done");
    const { decisions, next } = await list("ada", "?limit=2");
    expect(decisions).toMatchObject([
      { answer: "allow_always", by: "rule", question: null },
      { answer: "allow_always", by: "person" },
    ]);
    expect((await list("ada", `?limit=2&after=${next}`)).decisions).toMatchObject([{ answer: "deny" }]);
    expect((await list("bob")).decisions).toEqual([]);
  });

  test("shows an unanswered question as decided by the timeout, and a cancelled question not at all", async () => {
    await client.makeAgent("asks");
    const waiting = await client.untilWaiting("asks");
    await database.query({
      text: "with due as (update questions set expires_at = clock_timestamp() where answered_at is null) select pg_notify('conversation_graph_questions', '0')",
    });
    await waitUntil("the turn has gone on", async () => (await client.turn(waiting)).state === "done");
    const cancelled = await client.untilWaiting("asks");
    await callApi(`${opened.url}/api/v1/turns/${cancelled.turn_id}/cancel`, {
      method: "POST",
      body: "{}",
      headers: { "content-type": "application/json" },
    });
    expect((await list("ada")).decisions).toMatchObject([{ id: waiting.question.id, answer: "deny", by: "timeout" }]);
  });

  // rule, tool, whether somebody can be asked, what is kept
  test.each<[rule: string | null, tool: string, interactive: boolean, kept: string | null]>([
    [null, "look_up", true, null],
    ["allow", "look_up", true, null],
    ["deny", "look_up", true, "deny"],
    ["allow", "order", true, "allow"],
    ["deny", "order", true, "deny"],
    [null, "order", false, "deny"],
  ])("shows for the rule %s about the tool %s, with interactive %s, the decision %s", async (rule, name, interactive, kept) => {
    const agent = `rule-${rule ?? "none"}`;
    await client.makeAgent(agent, { permissions: rule === null ? [] : [{ tool: name, action: rule }] });
    client.follow([callOf(name, TEA)], "Done.");
    await client.ask(agent, { interactive });
    const expected = kept === null ? [] : [{ agent, tool: { name, arguments: TEA }, answer: kept, by: "rule", question: null }];
    expect((await list("ada")).decisions).toMatchObject(expected);
    expect((await list("ada")).decisions).toHaveLength(expected.length);
  });

  test("shows what a rule decided when nobody could be asked a question of the model", async () => {
    await client.makeAgent("asks");
    const option = (label: string, is_recommended: boolean) => ({ label, description: "", is_recommended });
    const given = { decision_type: "branch", context: "Which tea?", options: [option("green", false), option("black", true)] };
    client.follow([callOf("ask_decision", given)], "Done.");
    await client.ask("asks", { interactive: false });
    const asked = { type: "decision", question: "Which tea?", tool: null, answer: "black", by: "rule" };
    expect((await list("ada")).decisions).toMatchObject([asked]);
  });

  test("loses a decision when its exchange, its conversation or its user is erased", async () => {
    await client.makeAgent("asks");
    const { waiting: one } = await decide({ answer: "deny" });
    const { waiting: two } = await decide({ answer: "deny" });
    const { waiting: three } = await decide({ answer: "deny" });
    const turnIds = async () => (await list("ada")).decisions.map(({ turn_id }) => turn_id);
    const { json } = await callApi<{ message_id: string }>(`${opened.url}/api/v1/turns/${one.turn_id}`);
    await erase(`users/ada/episodes/${json.message_id}`);
    expect(await turnIds()).toEqual([three.turn_id, two.turn_id]);
    await erase(`conversations/${two.conversation_id}`);
    expect(await turnIds()).toEqual([three.turn_id]);
    await erase("users/ada");
    expect(await database.query({ text: "select 1 from decisions" })).toEqual([]);
  });
});

describe("with KEEP_DECISIONS_DAYS", () => {
  const KEEP_DAYS = 30;
  const { database, opened, list, erase } = useAskingService({ KEEP_DECISIONS_DAYS: String(KEEP_DAYS) });

  test("an erase keeps what an audit needs of recent decisions, until a job removes it after this time", async () => {
    const client = askingClient(opened);
    client.follow([tea], "Done.");
    await client.makeAgent("asks");
    for (const text of ["The first.", "The second."]) {
      const waiting = await client.untilWaiting("asks");
      await client.answer(waiting, { answer: "deny", text });
      await client.rest(waiting);
    }
    const age = (days: number, which: string) =>
      database.query({ text: `update decisions set created_at = now() - $1::int * interval '1 day' where ${which}`, values: [days] });
    await age(KEEP_DAYS + 1, "answer_text = 'The first.'");
    await erase("users/ada");
    const { decisions } = await list("ada");
    expect(decisions).toEqual([
      {
        ...{ id: expect.any(String), type: "permission", agent: "asks", question: null, tool: { name: "order", arguments: TEA } },
        ...{ answer: "deny", text: null, by: "person", rule: null, turn_id: null, conversation_id: null, decided_at: expect.any(String) },
      },
    ]);
    const owner = { tenantId: "default", userId: "ada" };
    expect(await findResidualData(database, null, owner)).toEqual([{ place: "public.decisions", count: 1 }]);

    async function look(keepDecisionsDays: number): Promise<void> {
      await database.query({
        text: "update pgboss.job set start_after = now() where data->>'kind' = 'erase_unused' and state = 'created'",
      });
      const ended: string[] = [];
      const parts = { database, summaryModel: null, keepDecisionsDays, onRun: ({ kind }: { kind: string }) => void ended.push(kind) };
      const jobs = await runMemoryJobs(parts);
      await waitUntil("the look is done", () => ended.includes("erase_unused"));
      await jobs.stop(1_000);
    }
    await opened.close();
    await look(KEEP_DAYS);
    expect(await database.query({ text: "select 1 from decisions" })).toHaveLength(1);
    await age(KEEP_DAYS + 1, "true");
    await look(KEEP_DAYS);
    expect(await database.query({ text: "select 1 from decisions" })).toEqual([]);
  });
});
