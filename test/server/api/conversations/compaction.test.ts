import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { callApi, postJson } from "../../../support/clients/api-client.ts";
import { postTurn } from "../../../support/clients/event-client.ts";
import { expectRefusal } from "../../../support/clients/expect-refusal.ts";
import { openTestService } from "../../../support/services/service.ts";
import { type ModelScript, startModelServer } from "../../../servers/model-server.ts";
import type { TurnEvent, TurnResult } from "../../../../turn/events.ts";

interface ShownSummary {
  text: string;
  version: number;
  covered_message_count: number;
  covered_through: { message_id: string };
  parts: Record<string, unknown> | null;
}

const LIMIT = 2_000;
const NOTES = { core_goal: "", key_decisions: ["We take the night train"], important_facts: [], unresolved_issues: [] };

describe("a context that is nearly full", () => {
  let model: Awaited<ReturnType<typeof startModelServer>>;
  let service: Awaited<ReturnType<typeof openTestService>>;
  let used = 100;
  let summariser: () => ModelScript = () => ({ tokens: ["They spoke of the night train."] });
  const isDivision = (content = ""): boolean => content.includes('"unresolved_issues"');
  const summaries = () => model.seen.filter(({ body }) => body.model === "sum");

  beforeAll(async () => {
    model = await startModelServer();
    model.answer((body) => {
      if (body.model === "chat") return { tokens: ["yes"], promptTokens: used };
      return isDivision(body.messages[0]?.content) ? { tokens: [JSON.stringify(NOTES)] } : summariser();
    });
    service = await openTestService({
      OPENAI_BASE_URL: model.url,
      CHAT_MODEL: "chat",
      SUMMARY_MODEL: "sum",
      MEMORY_MODEL: "mem",
      CONTEXT_TOKEN_BUDGET: `${LIMIT}`,
      HISTORY_WINDOW: "2",
      SUMMARY_MIN_MESSAGES: "100",
      SUMMARY_UPDATE_DELTA: "100",
    });
  });
  afterAll(async () => {
    await service.close();
    await model.close();
  });

  async function say(session_id: string, message: string, tokens = 100) {
    used = tokens;
    const { events } = await postTurn(service.url, { user_id: "ada", session_id, message });
    const all = events.map(({ data }) => data);
    const done = all.find((event): event is Extract<TurnEvent, { status: "done" }> => event.status === "done")?.content as TurnResult;
    const notices = all.flatMap((event) => (event.status === "notice" ? [event.content.code] : []));
    const compressions = all.flatMap((event) => (event.status === "context_compressed" ? [event.content] : []));
    return { done, notices, compressions, id: done.conversation_id };
  }
  const conversation = (id: string): string => `${service.url}/api/v1/conversations/${id}`;
  const settle = (id: string) => postJson(`${conversation(id)}/settle?timeout_ms=20000`, {});
  const summaryOf = async (id: string) => (await callApi<{ summary: ShownSummary | null }>(`${conversation(id)}/summary`)).json.summary;
  const context = async (id: string) => (await callApi<Record<string, unknown>>(`${conversation(id)}/context`)).json;

  test("gives a notice once at 80 %, and again only after it was below 80 %", async () => {
    const told: string[][] = [];
    for (const tokens of [1_500, 1_650, 1_700, 1_500, 1_600]) told.push((await say("told", "hello", tokens)).notices);
    expect(told).toEqual([[], ["context_near_limit"], [], [], ["context_near_limit"]]);
    const { id, done } = await say("told", "hello", 1_700);
    expect(done.usage).toMatchObject({ context_limit: LIMIT, usage_ratio: 0.85 });
    expect(await context(id)).toMatchObject({ usage_ratio: 0.85, warned: true, saturated: false });
  });

  test("is summarised by a job at 92 %, and the next prompt and later versions have the summary's parts", async () => {
    await say("full", "We take the night train.");
    await say("full", "It leaves at eight.");
    const { id } = await say("full", "Remember that.", 1_900);
    await settle(id);
    const summary = await summaryOf(id);
    expect(summary).toMatchObject({
      text: "They spoke of the night train.",
      version: 1,
      covered_message_count: 4,
      parts: { key_decisions: ["We take the night train"], pending_tasks: [] },
    });
    expect(await context(id)).toMatchObject({ saturated: true });
    await say("full", "And now?");
    const prompt = model.seen.filter(({ body }) => body.model === "chat").at(-1)?.body.messages ?? [];
    expect(prompt[0]?.content).toContain("> They spoke of the night train.\n> Decisions: We take the night train\n</conversation_summary>");
    expect(prompt.slice(1).map(({ content }) => content)).toEqual(["Remember that.", "yes", "And now?"]);
    const asked = summaries().length;
    const { json } = await postJson<{ compacted: boolean; summary: ShownSummary }>(`${conversation(id)}/compact`, {});
    expect(json).toMatchObject({ compacted: true, summary: { version: 2, covered_message_count: 6 } });
    const division = summaries()
      .slice(asked)
      .find(({ body }) => isDivision(body.messages[0]?.content));
    expect(division?.body.messages[1]?.content).toMatch(/<earlier_notes>\n> .*night train/);
  });

  test("is summarised before the answer when older messages have no room, and the summary has them", async () => {
    const long = (name: string): string => `${name}. ${"many words here ".repeat(260)}`;
    for (const name of ["first", "second"]) await say("long", long(name));
    const { done, compressions, id } = await say("long", long("third"));
    expect(compressions).toMatchObject([{ strategy: "summarize", budget: LIMIT }]);
    const [{ tokens_before = 0, tokens_after = 0, original_message_count = 0, final_message_count = 0 } = {}] = compressions;
    expect(tokens_after).toBeLessThan(tokens_before);
    expect(final_message_count).toBeLessThan(original_message_count);
    expect(done).toMatchObject({ completed: true, degraded: [], receipt: { summary: { version: 1 } } });
    expect((await summaryOf(id))?.parts).not.toBeNull();
  });

  test("is cut with a notice when the summary fails, and nothing stored changes", async () => {
    summariser = () => ({ status: 500 });
    const long = (name: string): string => `${name}. ${"many words here ".repeat(260)}`;
    for (const name of ["first", "second"]) await say("fails", long(name));
    const { notices, compressions, id } = await say("fails", long("third"));
    expect([compressions, notices]).toEqual([[], ["context_trimmed"]]);
    expect(await summaryOf(id)).toBeNull();
    const failed = await callApi(`${conversation(id)}/compact`, { method: "POST" });
    expectRefusal(failed, { status: 503, code: "model_unavailable" });
    summariser = () => ({ tokens: ["They spoke of many words."] });
  });

  test("has a summary that can go back to an earlier version, and the window then shows the messages it does not cover", async () => {
    await say("back", "We take the night train.");
    const { id } = await say("back", "It leaves at eight.");
    const compact = async () => (await postJson<{ compacted: boolean; summary: ShownSummary }>(`${conversation(id)}/compact`, {})).json;
    const first = await compact();
    await say("back", "many words");
    const second = await compact();
    expect([first.summary.version, second.summary.version]).toEqual([1, 2]);
    expect((await compact()).compacted).toBe(false);
    const { json } = await postJson<{ summary: ShownSummary }>(`${conversation(id)}/summary/revert`, { version: 1 });
    const { text, parts, covered_through, covered_message_count } = first.summary;
    expect(json.summary).toMatchObject({ text, parts, covered_through, covered_message_count, version: 3 });
    const { done } = await say("back", "And now?");
    expect(done.receipt).toMatchObject({ summary: { version: 3, covered_message_count: 2 }, window_messages: 4 });
    const revert = (body: unknown) => postJson(`${conversation(id)}/summary/revert`, body);
    expectRefusal(await revert({ version: 9 }), { status: 404, code: "not_found", says: /[Vv]ersion 9/ });
    expectRefusal(await revert({ version: 0 }), { status: 400, code: "invalid_request", field: "version" });
  });
});
