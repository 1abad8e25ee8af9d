import { describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { encodeCursor, MOST_PAGE_BYTES } from "../../../stores/page.ts";
import { callApi, listConversations, postJson, putJson, type ListedMessage, messagesOf } from "../../support/clients/api-client.ts";
import { type ShownEpisode, useServiceWithEpisodes } from "../../support/services/service-with-episodes.ts";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { fromLangChainTool } from "../../../agents/tool.ts";
import { askingClient, callOf } from "../../support/services/asking-agent.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { human, langGraphClient, refusalOf, type StateValues } from "../langgraph/langgraph-client.ts";

describe("over HTTP,", () => {
  const opened = useServiceWithEpisodes({ MAX_MESSAGE_CHARS: "200000" });
  const api = (path: string): string => `${opened.url}/api/v1${path}`;
  /** Room for what stands around the items. */
  const MOST_BYTES = MOST_PAGE_BYTES + 200_000;
  type ListBody<Item> = Record<string, Item[]> & { next: string | null };
  /** All pages of a list, each of which must be small enough. */
  async function readPages<Item>(path: string, list: string): Promise<Item[][]> {
    const pages: Item[][] = [];
    for (let after = ""; pages.length < 10;) {
      const { status, text, json } = await callApi<ListBody<Item>>(api(`${path}${path.includes("?") ? "&" : "?"}limit=100${after}`));
      expect([status, Buffer.byteLength(text) < MOST_BYTES]).toEqual([200, true]);
      pages.push(json[list] ?? []);
      if (json.next === null) break;
      after = `&after=${encodeURIComponent(json.next)}`;
    }
    return pages;
  }
  describe("an unlimited list", () => {
    test.each([
      ["agents", "name", { description: "Answers.", instructions: "水".repeat(19_000) }],
      ["knowledge", "kb_prefix", { description: "Papers.", instructions: "水".repeat(19_000) }],
    ])("of %s ends a page at 4 MiB, ordered by name, and the next page goes on", async (list, name, body) => {
      const names = Array.from({ length: 90 }, (_, index) => `large-${String(index).padStart(2, "0")}`);
      for (const one of names.toReversed()) expect((await putJson(api(`/${list}/${one}`), body)).status).toBe(201);
      const pages = await readPages<Record<string, string>>(`/${list}`, list);
      expect(pages.length).toBe(2);
      const found = pages.flat().map((item) => item[name] ?? "");
      expect(found.filter((one) => one.startsWith("large-"))).toEqual(names);
      expect(new Set(found).size).toBe(found.length);
    });

    test("of skills, branches or snapshots goes on after the entry that `after` names", async () => {
      for (const name of ["beta", "alpha"]) {
        const files = { "SKILL.md": `---\nname: ${name}\ndescription: Helps.\n---\nDo it.` };
        expect((await putJson(api(`/skills/${name}`), { files })).status).toBe(201);
      }
      const skills = (after: string) => callApi<ListBody<{ name: string }>>(api(`/skills${after}`));
      expect((await skills("")).json).toMatchObject({ skills: [{ name: "alpha" }, { name: "beta" }], next: null });
      expect((await skills("?after=alpha")).json).toMatchObject({ skills: [{ name: "beta" }], next: null });

      await opened.say("ada", "Hello.", "short");
      const [conversation] = await listConversations(opened.url, "ada");
      const at = (path: string) => api(`/conversations/${conversation?.id}/${path}`);
      for (const label of ["first", "second"]) {
        const { json } = await postJson<{ id: string }>(at("snapshots"), { label });
        await postJson(at(`snapshots/${json.id}/restore`), {});
      }
      for (const list of ["snapshots", "branches"]) {
        const all = (await callApi<ListBody<{ id: string; created_at: string }>>(at(list))).json;
        const [first, ...others] = all[list] ?? [];
        const after = encodeCursor({ id: first?.id ?? "", createdAt: new Date(first?.created_at ?? 0) });
        expect(others.length).toBeGreaterThan(0);
        expect(all.next).toBeNull();
        expect((await callApi(at(`${list}?after=${after}`))).json).toEqual({ [list]: others, next: null });
        expect((await callApi(at(`${list}?after=nonsense`))).status).toBe(400);
      }
    });
  });
  describe("a search with long results", () => {
    const userId = `reader ${uuidv7()}`;
    const bring = async (): Promise<void> => {
      const long = "水".repeat(60_000);
      for (let part = 0; part < 4; part++) {
        const messages = Array.from({ length: 10 }, (_, index) => [
          { role: "user", content: `ferries number ${part}-${index} ${long}` },
          { role: "assistant", content: `The ferry ${part}-${index} leaves at noon.` },
        ]).flat();
        if (part === 0) messages.push({ role: "user", content: "My ferries are punctual." }, { role: "assistant", content: "Good." });
        const { conversation_id: id } = await opened.bring(userId, messages, `part ${part}`);
        await opened.settle(id);
      }
    };

    test("shows each episode and each message once, on pages of at most 4 MiB", async () => {
      await bring();
      const path = `/users/${encodeURIComponent(userId)}`;
      const episodes = await readPages<ShownEpisode>(`${path}/episodes?query=punctual+ferries`, "episodes");
      expect(episodes.length).toBeGreaterThan(1);
      const ids = episodes.flat().map(({ id }) => id);
      expect([ids.length, new Set(ids).size]).toEqual([41, 41]);

      const messages = await readPages<{ id: string }>(`${path}/messages?query=ferries`, "messages");
      expect(messages.length).toBeGreaterThan(1);
      const found = messages.flat().map(({ id }) => id);
      expect([found.length, new Set(found).size]).toEqual([41, 41]);
    });
  });
});

describe("counted in bytes,", () => {
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
  describe("a very long list", () => {
    test("of messages, states or threads goes on with the next page, and shows each once", async () => {
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
      const [first, second] = [await fetchJson<{ thread_id: string }[]>("/langgraph/threads/search", asked)].flatMap((page) => [
        page,
        page,
      ]);
      expect([first?.bytes ?? 0, second?.next]).toEqual([expect.any(Number), "1"]);
      expect(first?.bytes).toBeLessThan(MOST_BYTES);
      const rest = await fetchJson<{ thread_id: string }[]>("/langgraph/threads/search", { ...asked, offset: 1 });
      expect([...(first?.json ?? []), ...rest.json].map(({ thread_id }) => thread_id).toSorted()).toEqual([threadId, copy].toSorted());
    });

    test("of steps goes on in the list of messages and in the turn's own list", async () => {
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
  test("metadata that grow with every PATCH are refused above a size, and can be made smaller", async () => {
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
});
