import { expect, test } from "@jest/globals";
import { callApi, listConversations } from "../../support/clients/api-client.ts";
import { useServiceWithEpisodes } from "../../support/services/service-with-episodes.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { langGraphClient, refusalOf } from "./langgraph-client.ts";

const opened = useServiceWithEpisodes();
const store = () => langGraphClient(opened.url).store;

interface Section {
  section: string;
  content: string;
  version: number;
}
const sectionsOf = async (user: string) =>
  (await callApi<{ sections: Section[] }>(`${opened.url}/api/v1/users/${user}/core-memory`)).json.sections;

test("a section of core memory is an item that can be written with versions, read over our own routes, and removed", async () => {
  await store().putItem(["ada", "core"], "profile", { content: "A pilot." });
  expect(await sectionsOf("ada")).toMatchObject([{ section: "profile", content: "A pilot.", version: 1 }]);
  expect(await store().getItem(["ada", "core"], "profile")).toMatchObject({ key: "profile", value: { content: "A pilot.", version: 1 } });
  await store().putItem(["ada", "core"], "profile", { content: "A captain.", version: 1 });
  const stale = store().putItem(["ada", "core"], "profile", { content: "A sailor.", version: 1 });
  expect(await refusalOf(stale)).toMatchObject({ status: 409, message: expect.stringContaining("stale_version") as unknown });
  await store().deleteItem(["ada", "core"], "profile");
  expect(await sectionsOf("ada")).toEqual([]);
  expect(await store().getItem(["ada", "core"], "profile")).toBeNull();
});

test("an item in the archive is found by meaning, recalled by turns, replaced under its key and deleted", async () => {
  const place = ["eve", "archive"];
  await store().putItem(place, "boat", { content: "Eve's boat is called Argo." });
  await store().putItem(place, "猫", { content: "Eve 的猫叫小白。" });
  const found = async (query: string) => (await store().searchItems(["eve"], { query })).items.map(({ key }) => key);
  await waitUntil(
    "the notes are indexed",
    async () => (await found("Which boat does Eve have?"))[0] === "boat" && (await found("猫叫什么"))[0] === "猫",
  );
  const { items } = await store().searchItems(place);
  expect(items.map(({ key }) => key).toSorted()).toEqual(["boat", "猫"].toSorted());
  expect(await store().listNamespaces({ prefix: ["eve"] })).toEqual({ namespaces: [place] });
  const recalled = await callApi<{ episodes: { user_message: string }[] }>(`${opened.url}/api/v1/users/eve/episodes?query=boat`);
  expect(recalled.json.episodes.map(({ user_message }) => user_message)).toContain("Eve's boat is called Argo.");

  await store().putItem(place, "boat", { content: "Eve's boat is called Beagle." });
  expect(await store().getItem(place, "boat")).toMatchObject({ value: { content: "Eve's boat is called Beagle." } });
  expect((await store().searchItems(place, { filter: { content: "Eve's boat is called Argo." } })).items).toEqual([]);
  await store().deleteItem(place, "boat");
  expect(await store().getItem(place, "boat")).toBeNull();
  await callApi(`${opened.url}/api/v1/users/eve`, { method: "DELETE" });
  expect((await store().searchItems(["eve"])).items).toEqual([]);
  expect(await listConversations(opened.url, "eve")).toEqual([]);
});

test.each<[string, string[], string, Record<string, unknown>, string]>([
  ["another namespace", ["ada", "notes"], "x", { content: "x" }, "namespace"],
  ["a section that does not exist", ["ada", "core"], "hobbies", { content: "x" }, "there is no section"],
  ["a value without content", ["ada", "archive"], "x", { text: "x" }, "value.content"],
  ["a blank content", ["ada", "core"], "profile", { content: " " }, "value.content"],
])("an item with %s is refused with the name of the fault", async (_what, namespace, key, value, words) => {
  expect(await refusalOf(store().putItem(namespace, key, value))).toMatchObject({
    status: 400,
    message: expect.stringContaining(words) as unknown,
  });
});
