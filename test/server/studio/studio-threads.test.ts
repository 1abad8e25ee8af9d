import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { useTestPostgres } from "../../support/databases/databases.ts";
import { startStudio, type StudioProcess, type Thread, type ThreadMessage } from "../../servers/studio-process.ts";

const TIMES = 20;

/** What Studio does around a message: it runs the graph, then looks at the state and the history, and draws the graph. */
async function sayAsStudio(studio: StudioProcess, thread: Thread, content: string): Promise<string> {
  const { messages } = await thread.run({ messages: [{ type: "human", content }] });
  const [state, history, picture] = await Promise.all([
    thread.state(),
    thread.history(5),
    studio.call("GET", `/assistants/${studio.assistantId}/graph`),
  ]);
  expect(picture.status).toBe(200);
  expect(state.values.messages).toEqual(messages);
  expect(history[0]?.values.messages).toEqual(messages);
  return messages.at(-1)?.content ?? "";
}

describe("a thread in Studio", () => {
  const database = useTestPostgres();
  let studio: StudioProcess;
  beforeAll(async () => {
    studio = await startStudio({ DATABASE_URL: database.url, ENABLE_EPISODIC_MEMORY: "false" });
  });
  afterAll(() => studio.stop());

  const countConnections = async (): Promise<number> => {
    const text = "select count(*)::int as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
    return (await database.query<{ n: number }>({ text }))[0]?.n ?? 0;
  };

  test("remembers what was said before, twenty times, at the same cost each time", async () => {
    const thread = await studio.createThread();
    await sayAsStudio(studio, thread, "My boat is called Calypso.");
    expect(await sayAsStudio(studio, thread, "What is my boat called?")).toContain("Calypso");
    const connections = await countConnections();
    const megabytes = studio.memory();
    for (let turn = 3; turn <= TIMES; turn++) await sayAsStudio(studio, thread, `Message ${turn}`);
    expect(await sayAsStudio(studio, thread, "What is my boat called?")).toContain("Calypso");
    const { messages } = (await thread.state()).values;
    expect(messages).toHaveLength(2 * (TIMES + 1));
    const stored = await database.query<ThreadMessage>({
      text: "select id, case role when 'user' then 'human' else 'ai' end as type, content from messages order by created_at, id",
    });
    expect(messages.map(({ id, type, content }) => ({ id, type, content }))).toEqual(stored);
    // A pool of ten, and those that listen for jobs and turns.
    expect(await countConnections()).toBeLessThanOrEqual(Math.max(connections, 13));
    expect(studio.memory()).toBeLessThan(megabytes + 200);
  });
});
