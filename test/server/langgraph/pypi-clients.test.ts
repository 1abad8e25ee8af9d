import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeEach, expect, test } from "@jest/globals";
import { pythonEnvironment } from "../../servers/python-environment.ts";
import { describeUnless } from "../../support/describe-unless.ts";
import { askingClient, callOf, ORDER_TOOLS } from "../../support/services/asking-agent.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";

const PROGRAM = fileURLToPath(new URL("pypi_clients.py", import.meta.url));
const { python, missing } = await pythonEnvironment(["langgraph==1.2.24", "langgraph-sdk==0.4.14"]);

/** What both clients see. */
const METHODS = {
  "assistants.search": ["asks", "assistant"],
  "assistants.count": 2,
  "assistants.get": "conversation",
  "assistants.get_graph": true,
  "assistants.get_schemas": true,
  "assistants.get_subgraphs": ["generate_agent"],
  "assistants.get_versions": true,
  "threads.create": "idle",
  "threads.update": "good",
  "runs.stream": "Hi there.",
  "runs.wait": "Hi there.",
  "runs.create": true,
  "runs.join": 6,
  "runs.join_stream": ["metadata", "values", "messages"],
  "runs.join_stream, behind an event": false,
  "runs.get": "success",
  "runs.list": ["success", "success", "success"],
  "runs.cancel": null,
  "threads.get": ["idle", "good"],
  "threads.get_state": "Hi there.",
  "threads.get_state, at a checkpoint": 6,
  "threads.get_history": [6, 4],
  "threads.search": ["idle"],
  "threads.count": 1,
  "runs.delete": null,
  "runs.wait, without a thread": "Hi there.",
  "runs.stream, without a thread": "Hi there.",
  "store.put_item": null,
  "store.get_item": "A pilot.",
  "store.search_items": ["profile"],
  "store.list_namespaces": ["core"],
  "store.delete_item": null,
  "threads.delete": null,
};
const ERRORS = [404, 404, 400, 422, "error", "model_unavailable"];

describeUnless(missing, "with LangGraph's packages from PyPI,", () => {
  const running = useServiceWithModel({}, { extras: { tools: ORDER_TOOLS } });
  beforeEach(async () => {
    const asking = askingClient(running);
    await asking.makeAgent("asks");
    asking.follow("Hi there.");
  });

  const STORIES: [what: string, story: string, expected: unknown][] = [
    ["the sync client calls every method that is offered", "sync", METHODS],
    ["the async client calls every method that is offered", "async", METHODS],
    ["the sync client throws what is refused, and reads what has failed", "sync errors", ERRORS],
    ["the async client throws what is refused, and reads what has failed", "async errors", ERRORS],
    ["RemoteGraph is a node of another graph, and remembers", "remote", ["Hi there.", 4]],
    ["an interrupt passes through RemoteGraph to the graph around it, and its answer comes back", "interrupt", ["permission", "Ordered."]],
  ];
  test.each(STORIES)("%s", async (_what, story, expected) => {
    if (story.endsWith("errors")) running.model.answer({ status: 500 });
    if (story === "interrupt") askingClient(running).follow([callOf("order", { item: "tea" })], "Ordered.");
    const { stdout } = await promisify(execFile)(python, [PROGRAM, `${running.url}/langgraph`, story]);
    expect(JSON.parse(stdout)).toEqual(expected);
  });
});
