import { beforeAll, describe, expect, test } from "@jest/globals";
import { callApi } from "../../../support/clients/api-client.ts";
import { useTestPostgres } from "../../../support/databases/databases.ts";
import { conversationApi } from "../../../support/services/service-with-episodes.ts";
import { useServiceWithModel } from "../../../support/services/service-with-model.ts";

describe("what a user said a second ago", () => {
  const database = useTestPostgres();
  const opened = useServiceWithModel({
    get DATABASE_URL() {
      return database.url;
    },
    ENABLE_EPISODIC_MEMORY: "true",
    EMBEDDING_MODEL: "built-in",
  });
  let api: ReturnType<typeof conversationApi>;
  const waitingJobs = async (): Promise<number> => {
    const text = "select count(*)::int as count from pgboss.job where data->>'kind' = 'index_episodes' and state = 'created'";
    return (await database.query<{ count: number }>({ text }))[0]?.count ?? -1;
  };
  /** The second of two quick turns: its jobs wait. */
  async function tell(userId: string, message: string, session: string): Promise<string> {
    await api.say(userId, "Hello there.", session);
    const { conversation_id: id } = await api.say(userId, message, session);
    expect(await waitingJobs()).toBeGreaterThan(0);
    return id;
  }
  beforeAll(() => {
    opened.model.answer({ tokens: ["Noted."] });
    api = conversationApi(opened.url);
  });

  test("is recalled in another conversation, although its job still waits, also of a new user and twice in a row", async () => {
    for (const [place, session] of [
      ["row C of the garage", "a"],
      ["row D of the garage", "b"],
    ] as const) {
      const id = await tell("ada", `I parked the car in ${place}.`, session);
      const { receipt, degraded } = await api.say("ada", "Where did I park the car?", `${session}, asked`);
      expect(degraded).toEqual([]);
      expect(receipt.episodes.map(({ conversation_id }) => conversation_id)).toContain(id);
    }
  });

  test("is found by a search over HTTP at once, and not by another user", async () => {
    const id = await tell("eve", "My locker has the number 417.", "a");
    const found = async (userId: string) =>
      (await api.episodes(userId, { query: "locker number" })).json.episodes.map((one) => one.conversation_id);
    expect(await found("eve")).toEqual([id]);
    expect(await found("eva")).toEqual([]);
  });

  test("is not kept by an erase that comes before its job", async () => {
    const id = await tell("tom", "My shoe size is 44.", "a");
    expect((await callApi(`${opened.url}/api/v1/conversations/${id}`, { method: "DELETE" })).status).toBe(200);
    expect((await api.episodes("tom", { query: "shoe size" })).json.episodes).toEqual([]);
  });

  test("becomes one job with what follows within three seconds", async () => {
    const { conversation_id: id } = await api.say("joe", "I like plums.", "a");
    await api.say("joe", "I like pears.", "a");
    await api.say("joe", "I like grapes.", "a");
    const text = "select count(*)::int as count from pgboss.job where data->>'conversationId' = $1 and data->>'kind' = 'index_episodes'";
    expect(await database.query({ text, values: [id] })).toEqual([{ count: 1 }]);
    expect(await api.settle(id)).toEqual({ settled: true, pending: 0 });
    expect((await api.episodes("joe", { query: "plums" })).json.episodes).toHaveLength(1);
  });
});
