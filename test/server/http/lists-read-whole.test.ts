import { describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { encodeCursor, MOST_PAGE_BYTES } from "../../../stores/page.ts";
import { callApi, listConversations, postJson, putJson } from "../../support/clients/api-client.ts";
import { type ShownEpisode, useServiceWithEpisodes } from "../../support/services/service-with-episodes.ts";

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

describe("a list that has no limit", () => {
  test.each([
    ["agents", "name", { description: "Answers.", instructions: "水".repeat(19_000) }],
    ["knowledge", "kb_prefix", { description: "Papers.", instructions: "水".repeat(19_000) }],
  ])("of %s ends a page at 4 MiB, by name, and the next one goes on", async (list, name, body) => {
    const names = Array.from({ length: 90 }, (_, index) => `large-${String(index).padStart(2, "0")}`);
    for (const one of names.toReversed()) expect((await putJson(api(`/${list}/${one}`), body)).status).toBe(201);
    const pages = await readPages<Record<string, string>>(`/${list}`, list);
    expect(pages.length).toBe(2);
    const found = pages.flat().map((item) => item[name] ?? "");
    expect(found.filter((one) => one.startsWith("large-"))).toEqual(names);
    expect(new Set(found).size).toBe(found.length);
  });

  test("of skills, of branches and of snapshots goes on behind what `after` names", async () => {
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

describe("a search whose finds are long", () => {
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

  test("has each episode and each message once, on pages of at most 4 MiB", async () => {
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
