import { type BaseStore, InMemoryStore, type Item } from "@langchain/langgraph";
import { describe, expect, test } from "@jest/globals";
import { makeErase } from "../../../memory/erase/erase.ts";
import { MemoryStore } from "../../../memory/store/memory-store.ts";
import { describeStores } from "../../support/databases/describe-stores.ts";

const CORE = ["ada", "core"];
const ARCHIVE = ["ada", "archive"];
const said = (content: string) => ({ content });

type Found = Item | null | undefined;
const shown = (item: Found) => item && { namespace: item.namespace, key: item.key, content: item.value["content"] as unknown };
/** LangGraph's stores promise no order of what is found without a query. */
const inOrder = (items: readonly Found[]) => items.map(shown).sort((one, other) => String(one?.key).localeCompare(String(other?.key)));

async function fill(store: BaseStore): Promise<void> {
  await store.put(CORE, "profile", said("A pilot."));
  for (const [key, content] of [
    ["boat", "Ada's boat is called Argo."],
    ["cat", "小白是只猫。"],
    ["dog", "The dog is called Rex."],
  ])
    await store.put(ARCHIVE, key ?? "", said(content ?? ""));
}

/** What a program does with a store of LangGraph, and what it reads of it. */
const STORIES: [what: string, story: (store: BaseStore) => Promise<unknown>][] = [
  [
    "an item that was put is read, and one that was not is null",
    async (store) => [shown(await store.get(ARCHIVE, "cat")), await store.get(ARCHIVE, "bird")],
  ],
  ["a section of core memory is an item", async (store) => shown(await store.get(CORE, "profile"))],
  [
    "a second put of a key replaces the value, under the same key",
    async (store) => {
      await store.put(ARCHIVE, "boat", said("It is called Beagle."));
      await store.put(CORE, "profile", said("A captain."));
      return inOrder(await store.search(["ada"]));
    },
  ],
  [
    "what was deleted is gone, and may be deleted again",
    async (store) => {
      await store.delete(ARCHIVE, "boat");
      await store.delete(ARCHIVE, "boat");
      await store.delete(CORE, "profile");
      return [await store.get(ARCHIVE, "boat"), await store.get(CORE, "profile"), inOrder(await store.search(["ada"]))];
    },
  ],
  ["a search finds all below a prefix", async (store) => inOrder(await store.search(["ada"]))],
  ["a search of one namespace finds what is in it", async (store) => inOrder(await store.search(CORE))],
  ["a search of a namespace without items finds nothing", async (store) => store.search(["ada", "core", "deeper"])],
  ["a filter compares whole values", async (store) => inOrder(await store.search(["ada"], { filter: said("小白是只猫。") }))],
  [
    "a filter is applied before the page is cut",
    async (store) => inOrder(await store.search(ARCHIVE, { filter: said("Ada's boat is called Argo."), limit: 1 })),
  ],
  ...[
    { $eq: "A pilot." },
    { $ne: "A pilot." },
    { $in: ["A pilot.", "小白是只猫。"] },
    { $nin: ["A pilot."] },
    { $gt: 1 },
    { $lte: 1 },
    { $eq: "A pilot.", $ne: "A pilot." },
  ].map((content): (typeof STORIES)[number] => [
    `a filter knows ${JSON.stringify(content)}`,
    async (store) => inOrder(await store.search(["ada"], { filter: { content } })),
  ]),
  ["a filter on a field that an item has not finds nothing", async (store) => store.search(["ada"], { filter: { mood: "good" } })],
  [
    "pages follow each other without gaps",
    async (store) => {
      const pages = await Promise.all([0, 1, 2, 3, 4].map((offset) => store.search(["ada"], { limit: 1, offset })));
      return inOrder(pages.flat());
    },
  ],
  ["namespaces are listed in their order", async (store) => store.listNamespaces({ prefix: ["ada"] })],
  ["namespaces are found by their end", async (store) => store.listNamespaces({ prefix: ["ada"], suffix: ["core"] })],
  ["namespaces are found by a wildcard", async (store) => store.listNamespaces({ prefix: ["ada", "*"] })],
  ["namespaces are cut at a depth, and listed once", async (store) => store.listNamespaces({ prefix: ["ada"], maxDepth: 1 })],
  ["namespaces are listed in pages", async (store) => store.listNamespaces({ prefix: ["ada"], limit: 1, offset: 1 })],
  [
    "reads of a batch see nothing of its writes, and the last write of a key counts",
    async (store) => {
      const [before] = await store.batch([
        { namespace: ARCHIVE, key: "bird" },
        { namespace: ARCHIVE, key: "bird", value: said("first") },
        { namespace: ARCHIVE, key: "bird", value: said("last") },
      ]);
      return [before, shown(await store.get(ARCHIVE, "bird"))];
    },
  ],
  [
    "what was read can be put back as it is",
    async (store) => {
      for (const [namespace, key] of [
        [CORE, "profile"],
        [ARCHIVE, "dog"],
      ] as const)
        await store.put(namespace, key, (await store.get(namespace, key))?.value ?? {});
      return inOrder(await store.search(["ada"]));
    },
  ],
];

describeStores("a store of memory", (stores) => {
  const makeStore = (userId: string | null = "ada"): MemoryStore => {
    const { database, coreMemory, imports, erases } = stores;
    return new MemoryStore({
      database,
      coreMemory,
      imports,
      erase: makeErase(erases, null),
      recall: null,
      scope: { tenantId: tenant(), userId },
    });
  };
  let tenants = 0;
  const tenant = () => `store-${tenants}`;

  // LangGraph's packages have conformance tests of checkpointers only.
  describe("does what LangGraph's own store does", () => {
    test.each(STORIES)("%s", async (_what, story) => {
      tenants++;
      const [own, theirs] = [makeStore(), new InMemoryStore()];
      for (const store of [own, theirs]) await fill(store);
      const expected = await story(theirs);
      expect(expected).toBeDefined();
      expect(await story(own)).toEqual(expected);
    });
  });

  test.each<[string, (store: MemoryStore) => Promise<unknown>, RegExp]>([
    ["another user's memory", (store) => store.get(["eve", "core"], "profile"), /another user/],
    ["a namespace for anything", (store) => store.put(["ada", "notes"], "x", said("x")), /namespace/],
    ["a field that would be lost", (store) => store.put(ARCHIVE, "x", { content: "x", mood: "good" }), /value\.mood/],
    ["a section that there is not", (store) => store.put(CORE, "hobbies", said("x")), /key/],
  ])("%s is refused, and nothing is written", async (_what, call, says) => {
    tenants++;
    const store = makeStore();
    await expect(call(store)).rejects.toThrow(says);
    expect(await store.search(["ada"])).toEqual([]);
  });
});
