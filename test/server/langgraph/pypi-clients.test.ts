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

describeUnless(missing, "LangGraph's clients of PyPI, as they are", () => {
  const running = useServiceWithModel({}, { extras: { tools: ORDER_TOOLS } });
  beforeEach(async () => {
    const asking = askingClient(running);
    await asking.makeAgent("asks");
    asking.follow("Hi there.");
  });

  const STORIES: [what: string, story: string, expected: unknown][] = [
    ["the sync client streams a run, and finds state, history and runs", "sync", ["metadata", "Hi there.", "Hi there.", 1, "success", 1]],
    ["the async client waits, joins and reads assistants", "async", ["Hi there.", 4, "metadata", true, "asks", true]],
    ["RemoteGraph is a node of another graph that remembers", "remote", ["Hi there.", 4]],
    ["an interrupt passes through it to the graph around it, and back", "interrupt", ["permission", "Ordered."]],
  ];
  test.each(STORIES)(
    "%s",
    async (_what, story, expected) => {
      if (story === "interrupt") askingClient(running).follow([callOf("order", { item: "tea" })], "Ordered.");
      const { stdout } = await promisify(execFile)(python, [PROGRAM, `${running.url}/langgraph`, story]);
      expect(JSON.parse(stdout)).toEqual(expected);
    },
    60_000,
  );
});
