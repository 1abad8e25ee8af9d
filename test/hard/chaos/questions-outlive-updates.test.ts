import { afterAll, expect, test } from "@jest/globals";
import { killServiceProcesses, startServiceProcess } from "../../servers/service-process.ts";
import { contentOf, tokenText } from "../../support/clients/event-client.ts";
import { useTestPostgres } from "../../support/databases/databases.ts";
import { askingClient, callOf, statuses } from "../../support/services/asking-agent.ts";
import { useModelServer } from "../../support/services/use-model-server.ts";
import { makeNextVersion } from "./version-tree.ts";

const database = useTestPostgres();
const model = useModelServer();
afterAll(killServiceProcesses);

const MIGRATION = {
  name: "9999_of_the_next_version.sql",
  sql: "-- Compatible from 0001.\nalter table questions add column of_the_next_version text;",
};

test("a process of the next version goes on with a question that an old process asked, and a client that was cut off resumes there and sees the rest", async () => {
  const environment = { DATABASE_URL: database.url, OPENAI_BASE_URL: model.url };
  const old = await startServiceProcess(environment);
  const client = askingClient({ url: old.url, model });
  await client.makeAgent("clock", { tools: ["current_time"], permissions: [{ tool: "current_time", action: "ask" }] });
  model.answer(({ messages }) =>
    messages.at(-1)?.role === "tool"
      ? { tokens: ["It is ", "late."] }
      : { tokens: ["One moment. "], toolCalls: [callOf("current_time", {})] },
  );
  const asked = await client.ask("clock");
  const waiting = contentOf(asked.events, "waiting");

  const version = await makeNextVersion(MIGRATION);
  try {
    const next = await startServiceProcess(environment, version.main);
    old.kill("SIGTERM");
    expect(await old.exited).toBe(0); // it waits for no turn that waits
    expect(await client.turn(waiting, next.url)).toMatchObject({ state: "waiting", question: waiting.question });
    expect((await client.answer(waiting, { answer: "allow_once" }, next.url)).status).toBe(201);
    const rest = await client.rest(waiting, next.url, asked.events.at(-1)?.id);
    expect(statuses(rest)).toEqual(["permission_replied", "tool_result", "token", "token", "done"]);
    expect(tokenText([...asked.events, ...rest.events])).toBe("One moment. It is late.");
  } finally {
    await version.remove();
  }
});
