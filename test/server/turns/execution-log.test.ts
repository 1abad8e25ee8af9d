import { beforeAll, describe, expect, test } from "@jest/globals";
import { messagesOf } from "../../support/clients/api-client.ts";
import { postTurn } from "../../support/clients/event-client.ts";
import { useServiceWithEpisodes } from "../../support/services/service-with-episodes.ts";

/** What each node tells of itself in a turn with `debug`. */
describe("the execution log", () => {
  const running = useServiceWithEpisodes({ ENABLE_CORE_MEMORY: "true" });
  beforeAll(async () => {
    const { conversation_id: id } = await running.say("ada", "My bicycle is red and stands in the cellar.", "first");
    await running.settle(id);
  });

  async function logsOf(debug: boolean): Promise<Record<string, unknown>[]> {
    const { events } = await postTurn(running.url, { user_id: "ada", session_id: "second", message: "What colour is my bicycle?", debug });
    return events.flatMap(({ data }) => (data.status === "execution_log" ? [data.content] : []));
  }

  test("has one entry a node, with what it found and how long that took, and nothing that was said", async () => {
    const logs = await logsOf(true);
    const byNode = Object.fromEntries(logs.map((log) => [String(log["node"]), log]));
    expect(Object.keys(byNode).sort()).toEqual(["core_memory", "generate", "history", "persist", "retrieve", "route"]);
    const milliseconds = expect.any(Number) as unknown;
    expect(byNode).toMatchObject({
      route: { kb_prefix: "general", method: "default", knowledge_bases: 0, ms: milliseconds },
      history: { window_messages: 0, window_is_whole: true, summary_version: null, has_other_episodes: true },
      core_memory: { sections: [] },
      retrieve: { episodes: 1, episodes_ms: milliseconds, episodes_degraded: false },
      generate: {
        first_token_ms: milliseconds,
        model_ms: milliseconds,
        prompt_tokens: { system: milliseconds, episodes: milliseconds, message: milliseconds },
        left_out: 0,
        error: null,
      },
      persist: { outcome: "stored", completed: true, jobs: expect.arrayContaining(["index_episodes", "remember"]) as unknown },
    });
    expect(JSON.stringify(logs)).not.toMatch(/bicycle|cellar/);
  });

  test("stays with the answer, beside the memory that it was given", async () => {
    const [, answer] = await messagesOf(running.url, "ada", "second");
    const log = expect.arrayContaining([expect.objectContaining({ node: "generate" })]);
    const episodes = [expect.objectContaining({ message_ids: [expect.any(String), expect.any(String)] })];
    expect(answer?.metadata).toMatchObject({ execution_log: log, episodes, route: { kb_prefix: "general" } });
    expect(JSON.stringify(answer?.metadata)).not.toMatch(/bicycle|cellar/);
  });

  test("is not there without debug", async () => expect(await logsOf(false)).toEqual([]));
});
