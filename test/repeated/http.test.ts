import { expect, test } from "@jest/globals";
import { setTimeout as sleep } from "node:timers/promises";
import { openPostgres } from "../../stores/postgres/database/open-postgres.ts";
import { callApi, postJson } from "../support/clients/api-client.ts";
import { createRealDatabase } from "../support/databases/databases.ts";
import { postTurn } from "../support/clients/event-client.ts";
import { IN_THIS_PROCESS } from "../support/services/serve-library.ts";
import { openTestService } from "../support/services/service.ts";
import { waitUntil } from "../support/wait-until.ts";

const TIMES = 20;

test("the service is opened, used in every way over HTTP and closed twenty times in one process, and leaves nothing open", async () => {
  const { url: DATABASE_URL, drop } = await createRealDatabase();
  const warnings: string[] = [];
  const warn = ({ name, message }: Error): void => void warnings.push(`${name}: ${message}`);
  process.on("warning", warn);
  const listeners = (): [string, number][] => process.eventNames().map((name) => [String(name), process.listenerCount(name)]);
  const resources = (): string[] => process.getActiveResourcesInfo().toSorted();
  try {
    let early: { listeners: [string, number][]; resources: string[] } | undefined;
    for (let time = 1; time <= TIMES; time++) {
      const service = await openTestService({ DATABASE_URL, ENABLE_CORE_MEMORY: "true" }, IN_THIS_PROCESS);
      const body = { user_id: "ada", session_id: "s", message: `Message ${time}` };
      const answers = [
        await postJson(`${service.url}/api/v1/chat`, body),
        await postTurn(service.url, body),
        await postJson(`${service.url}/v1/chat/completions`, {
          model: "conversation-graph",
          user: "ada",
          messages: [{ role: "user", content: "Hi" }],
        }),
        await callApi(`${service.url}/api/v1/conversations?user_id=ada`),
        await callApi(`${service.url}/api/v1/users/ada/core-memory`),
      ];
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
      await service.close();
      await sleep(50);
      if (time === 2) early = { listeners: listeners(), resources: resources() };
    }
    const database = await openPostgres(DATABASE_URL);
    const text = "select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
    expect(await database.query({ text }).finally(() => database.close())).toEqual([]);
    expect(warnings).toEqual([]);
    expect(listeners()).toEqual(early?.listeners);
    const most = (early?.resources.length ?? 0) + 2;
    await waitUntil("no more is open than in the beginning", () => resources().length <= most);
  } finally {
    process.off("warning", warn);
    await drop();
  }
});
