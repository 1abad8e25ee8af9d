import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { listConversations, listMessages } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { contentOf, postTurn, type EventStreamResponse } from "../../support/clients/event-client.ts";
import { startModelServer, type ModelServer } from "../../servers/model-server.ts";
import { killServiceProcesses, startServiceProcess, type ServiceProcess } from "../../servers/service-process.ts";

const SESSIONS = 5;
const TURNS = 20;

describe("two service processes on one Postgres", () => {
  let model: ModelServer;
  let database: Awaited<ReturnType<typeof createRealDatabase>>;
  let services: ServiceProcess[];
  beforeAll(async () => {
    [model, database] = await Promise.all([startModelServer(), createRealDatabase()]);
    const environment = { DATABASE_URL: database.url, OPENAI_BASE_URL: model.url };
    services = await Promise.all([startServiceProcess(environment), startServiceProcess(environment)]);
    model.answer(({ messages }) => ({ tokens: ["answer ", `to ${messages.at(-1)?.content}`], betweenMs: 20 }));
  });
  afterAll(async () => {
    await killServiceProcesses();
    await model.close();
    await database.drop();
  });

  /** Posts all turns at once, every other one to the other process. */
  const postAll = (userId: string, fields: object = {}): Promise<EventStreamResponse[]> =>
    Promise.all(
      Array.from({ length: TURNS }, (_, index) => {
        const body = { user_id: userId, session_id: `session ${index % SESSIONS}`, message: `message ${index}`, ...fields };
        return postTurn(services[index % services.length]?.url ?? "", body);
      }),
    );

  /** Each user message is followed by the answer to it, of the same turn; returns how many turns there are. */
  async function expectWholeTurns(userId: string): Promise<number> {
    const seen = await Promise.all(services.map(({ url }) => listConversations(url, userId)));
    expect(seen[0]).toEqual(seen[1]);
    expect(seen[0]).toHaveLength(SESSIONS);
    let turns = 0;
    for (const { id, message_count } of seen[0] ?? []) {
      const messages = await listMessages(services[0]?.url ?? "", id);
      expect(messages).toHaveLength(message_count);
      expect(message_count % 2).toBe(0);
      for (let index = 0; index < messages.length; index += 2) {
        const [question, answer] = messages.slice(index, index + 2);
        expect([question?.role, answer?.role]).toEqual(["user", "assistant"]);
        expect(answer?.content).toBe(`answer to ${question?.content}`);
        expect(answer?.metadata["turn_id"]).toBe(question?.metadata["turn_id"]);
        turns++;
      }
    }
    return turns;
  }

  test("take one turn at a time in each conversation: others are refused as busy, and none interleave", async () => {
    const answers = await postAll("refused");
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.map(({ status, json }) => [status, json?.error.code])).toEqual(refused.map(() => [409, "conversation_busy"]));
    expect(refused.length).toBeGreaterThan(0);
    for (const { events } of answers.filter(({ status }) => status === 200)) expect(contentOf(events, "done").completed).toBe(true);
    expect(await expectWholeTurns("refused")).toBe(TURNS - refused.length);
  });

  test("with enqueue take all of them, one after the other", async () => {
    const answers = await postAll("enqueued", { on_busy: "enqueue" });
    for (const { events } of answers) expect(contentOf(events, "done").completed).toBe(true);
    expect(await expectWholeTurns("enqueued")).toBe(TURNS);
  });
});
