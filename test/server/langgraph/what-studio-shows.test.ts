import { readFile } from "node:fs/promises";
import { expect, test } from "@jest/globals";
import { callApi } from "../../support/clients/api-client.ts";
import { askingClient, callOf, ORDER_TOOLS } from "../../support/services/asking-agent.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { human, langGraphClient } from "./langgraph-client.ts";

const opened = useServiceWithModel({}, { extras: { tools: ORDER_TOOLS } });

/** The documentation shortens ids with a dot of three. */
const SHORTENED = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-)?…$/;
const anyId = expect.stringMatching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/) as unknown;
const withAnyIds = (_name: string, value: unknown): unknown => (typeof value === "string" && SHORTENED.test(value) ? anyId : value);

/** The JSON of a section, in order. */
async function shownIn(section: string): Promise<object[]> {
  const text = await readFile("docs/langgraph.md", "utf8");
  const [, rest = ""] = text.split(`## ${section}\n`);
  const [own = ""] = rest.split("\n## ");
  return [...own.matchAll(/```json\n(.*?)```/gs)].map(([, json = ""]) => JSON.parse(json, withAnyIds) as object);
}

test("what the documentation shows of Studio's data is what Studio reads", async () => {
  const asking = askingClient(opened);
  await asking.makeAgent("asks");
  asking.follow([callOf("order", { item: "tea" })], "Ordered.");
  const { threads, runs } = langGraphClient(opened.url);
  const { thread_id: threadId } = await threads.create({ metadata: { user_id: "ada" } });
  await runs.wait(threadId, "asks", { input: human("Order tea.") });
  await callApi(`${opened.url}/api/v1/conversations/${threadId}`, {
    method: "PATCH",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ title: "Tea" }),
  });
  const [found] = await threads.search({ metadata: { user_id: "ada" } });
  const [state] = await threads.getHistory(threadId);
  const [thread, newest, ...others] = await shownIn("What Studio shows");
  expect(found).toMatchObject(thread ?? {});
  expect(state).toMatchObject(newest ?? {});
  expect(others).toEqual([]);
  expect([Object.keys(thread ?? {}), Object.keys(newest ?? {})].map(({ length }) => length > 2)).toEqual([true, true]);
});
