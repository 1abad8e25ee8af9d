import { tool } from "@langchain/core/tools";
import { describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { z } from "zod";
import { fromLangChainTool } from "../../../agents/tool.ts";
import { MOST_PAGE_BYTES } from "../../../stores/page.ts";
import { callApi, type ListedMessage, messagesOf, postJson } from "../../support/clients/api-client.ts";
import { askingClient, callOf } from "../../support/services/asking-agent.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { human, langGraphClient, refusalOf, type StateValues } from "../langgraph/langgraph-client.ts";

const LONG_LINES = Array.from({ length: 50 }, () => "x".repeat(980)).join("\n");
const readLong = tool(() => LONG_LINES, { name: "read_long", description: "Reads much.", schema: z.looseObject({ item: z.string() }) });
const opened = useServiceWithModel({}, { extras: { tools: [fromLangChainTool(readLong, { onlyReads: true })] } });
const client = () => langGraphClient(opened.url);
/** Room for what stands around the items. */
const MOST_BYTES = MOST_PAGE_BYTES + 200_000;

interface Steps {
  steps?: { seq: number }[];
  steps_next?: string;
}

async function fetchJson<Body>(path: string, body?: object) {
  const given = body ? { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) } : {};
  const response = await fetch(opened.url + path, given);
  const text = await response.text();
  return {
    status: response.status,
    next: response.headers.get("x-pagination-next"),
    bytes: Buffer.byteLength(text),
    json: JSON.parse(text) as Body,
  };
}

/** A conversation of 200 messages, 90,000 bytes each, and two turns behind them. */
async function longThread(): Promise<string> {
  const userId = `ada ${uuidv7()}`;
  const content = "水".repeat(30_000);
  for (let part = 0; part < 10; part++) {
    const messages = Array.from({ length: 20 }, (_, index) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content: `${part}-${index} ${content}`,
    }));
    const { status } = await postJson(`${opened.url}/api/v1/conversations/import`, { user_id: userId, session_id: "long", messages });
    expect(status).toBe(200);
  }
  const { json } = await fetchJson<{ conversations: { id: string }[] }>(`/api/v1/conversations?user_id=${encodeURIComponent(userId)}`);
  const threadId = json.conversations[0]?.id ?? "";
  opened.model.answer({ tokens: ["Hi."] });
  for (const words of ["one", "two"]) await client().runs.wait(threadId, "assistant", { input: human(words) });
  return threadId;
}

describe("a list of more bytes than one answer may have", () => {
  test("of messages, of states and of threads goes on with the next page, and has each once", async () => {
    const threadId = await longThread();
    const seen: string[] = [];
    let after = "";
    do {
      const page = await fetchJson<{ messages: ListedMessage[]; next: string | null }>(
        `/api/v1/conversations/${threadId}/messages?limit=200${after}`,
      );
      expect(page.bytes).toBeLessThan(MOST_BYTES);
      seen.push(...page.json.messages.map(({ id }) => id));
      after = page.json.next === null ? "" : `&after=${page.json.next}`;
    } while (after !== "");
    expect([seen.length, new Set(seen).size]).toEqual([204, 204]);

    const states: string[][] = [];
    for (let before: string | null = null, pages = 0; pages < 5; pages++) {
      const page: Awaited<ReturnType<typeof fetchJson<{ values: StateValues }[]>>> = await fetchJson(
        `/langgraph/threads/${threadId}/history`,
        {
          limit: 100,
          ...(before ? { before } : {}),
        },
      );
      expect(page.bytes).toBeLessThan(MOST_BYTES);
      states.push(...page.json.map(({ values }) => values.messages.slice(-2).map(({ content }) => content)));
      before = page.next;
      if (before === null) break;
    }
    expect(states).toEqual([
      ["two", "Hi."],
      ["one", "Hi."],
    ]);

    const { thread_id: copy } = (await client().threads.copy(threadId)) as unknown as { thread_id: string };
    const asked = { ids: [threadId, copy], select: ["thread_id", "values"], limit: 2 };
    const [first, second] = [await fetchJson<{ thread_id: string }[]>("/langgraph/threads/search", asked)].flatMap((page) => [page, page]);
    expect([first?.bytes ?? 0, second?.next]).toEqual([expect.any(Number), "1"]);
    expect(first?.bytes).toBeLessThan(MOST_BYTES);
    const rest = await fetchJson<{ thread_id: string }[]>("/langgraph/threads/search", { ...asked, offset: 1 });
    expect([...(first?.json ?? []), ...rest.json].map(({ thread_id }) => thread_id).toSorted()).toEqual([threadId, copy].toSorted());
  });

  test("of steps goes on, in the list of messages and in that of the turn", async () => {
    const asking = askingClient(opened);
    await asking.makeAgent("reads", { limits: { max_tool_calls: 100, max_steps: 100 }, permissions: [{ tool: "*", action: "allow" }] });
    const rounds = Array.from({ length: 6 }, (_, round) =>
      Array.from({ length: 16 }, (_, call) => callOf("read_long", { item: `${round}-${call}` })),
    );
    asking.follow(...rounds, "Read.");
    for (const message of ["first", "second"])
      await postJson(`${opened.url}/api/v1/chat`, { user_id: "reader", session_id: "steps", message, agent: "reads" });
    const [asked] = await messagesOf(opened.url, "reader", "steps");
    const { json: found } = await fetchJson<{ conversation_id: string }>(`/api/v1/messages/${asked?.id}`);
    const messages: (ListedMessage & Steps)[] = [];
    for (let after = "", pages = 0; pages < 10; pages++) {
      const page = await fetchJson<{ messages: (ListedMessage & Steps)[]; next: string | null }>(
        `/api/v1/conversations/${found.conversation_id}/messages?include=steps${after}`,
      );
      expect([page.status, page.bytes < MOST_BYTES]).toEqual([200, true]);
      messages.push(...page.json.messages);
      if (page.json.next === null) break;
      after = `&after=${page.json.next}`;
    }
    expect(messages.map(({ content }) => content)).toEqual(["first", "Read.", "second", "Read."]);
    for (const { role, metadata, steps = [], steps_next: next } of messages.filter(({ role }) => role === "assistant")) {
      const seqs = steps.map(({ seq }) => seq);
      for (let after = next ?? null; after !== null;) {
        const page = await fetchJson<{ steps: { seq: number }[]; next: string | null }>(
          `/api/v1/turns/${String(metadata["turn_id"])}/steps?limit=200&after=${after}`,
        );
        expect([role, page.status, page.bytes < MOST_BYTES]).toEqual(["assistant", 200, true]);
        seqs.push(...page.json.steps.map(({ seq }) => seq));
        after = page.json.next;
      }
      expect([next === undefined, seqs.length, new Set(seqs).size]).toEqual([false, 103, 103]);
    }
  });
});

test("metadata that grow by one PATCH after the other are refused beyond a size, and can be made smaller", async () => {
  const { thread_id: threadId } = await client().threads.create({ metadata: { user_id: "ada" } });
  const add = (name: string, value: string | null) => client().threads.update(threadId, { metadata: { [name]: value } });
  for (const name of ["a", "b", "c", "d"]) await add(name, "x".repeat(15_000));
  expect(await refusalOf(add("e", "x".repeat(15_000)))).toMatchObject({ status: 400, message: expect.stringContaining("metadata") });
  await add("a", null);
  await add("e", "y");
  expect(Object.keys((await client().threads.get(threadId)).metadata ?? {}).toSorted()).toEqual([
    "b",
    "c",
    "d",
    "e",
    "graph_id",
    "user_id",
  ]);
  expect(await callApi(`${opened.url}/api/v1/conversations/${threadId}`)).toMatchObject({ status: 200 });
});
