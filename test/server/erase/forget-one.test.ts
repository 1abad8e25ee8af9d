import { expect, test } from "@jest/globals";
import { callApi, messagesOf } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openServiceWithEpisodes } from "../../support/services/service-with-episodes.ts";
import { useOpened } from "../../support/use-opened.ts";
import { waitUntil } from "../../support/wait-until.ts";

interface Summary {
  text: string;
  covered_message_count: number;
}

// The built-in summariser and the rules: no model is asked.
const SETTINGS = {
  OPENAI_BASE_URL: "",
  ENABLE_CORE_MEMORY: "true",
  SUMMARY_MIN_MESSAGES: "4",
  SUMMARY_UPDATE_DELTA: "2",
  HISTORY_WINDOW: "2",
};
const running = useOpened(() => openServiceWithEpisodes(SETTINGS));

const at = (path: string): string => `${running.url}/api/v1/${path}`;
const forget = (episode: string) => callApi(at(`users/ada/episodes/${episode}`), { method: "DELETE" });

test("an exchange that is forgotten is gone from messages, episodes, core memory, operations and the summary, which is made anew; the rest stays", async () => {
  const said = ["I moved to Porto.", "My cat Tom ate the curtains on Monday.", "I like jazz a lot.", "The report is due on May 5."];
  let conversation = "";
  for (const message of [...said, "I bought a red bicycle."]) {
    conversation = (await running.say("ada", message)).conversation_id;
    await running.settle(conversation);
  }
  const summaryOf = async () => (await callApi<{ summary: Summary | null }>(at(`conversations/${conversation}/summary`))).json.summary;
  const core = async () => (await callApi<{ sections: { content: string }[] }>(at("users/ada/core-memory"))).json.sections;
  expect((await summaryOf())?.text).toContain("Porto");
  expect((await core()).map(({ content }) => content)).toEqual(["Lives in Porto.", "Likes jazz."]);

  const [porto] = (await running.episodes("ada", { query: "Porto" })).json.episodes;
  const forgotten = await forget(porto?.id ?? "");
  expect({ status: forgotten.status, json: forgotten.json }).toEqual({
    status: 200,
    json: { erased: { messages: 2, summaries: 1, episodes: 1, core_memory_sections: 1, memory_operations: 1, jobs: 0 } },
  });
  const contents = (await messagesOf(running.url, "ada", "s")).map(({ content }) => content).join("\n");
  expect(contents).not.toContain("Porto");
  expect(contents).toContain("jazz");
  expect((await running.episodes("ada", { query: "Porto" })).json.episodes.map(({ id }) => id)).not.toContain(porto?.id);
  expect((await core()).map(({ content }) => content)).toEqual(["Likes jazz."]);
  const operations = await callApi<unknown>(at("users/ada/memory-operations"));
  expect(operations.text).not.toContain("Porto");
  expect(operations.text).toContain("jazz");
  expect((await callApi<unknown>(at("users/ada/core-memory/profile/history"))).text).not.toContain("Porto");

  await running.settle(conversation);
  const isRebuilt = async () => ((await summaryOf())?.covered_message_count ?? 0) > 0 && summaryOf();
  const rebuilt = await waitUntil("the summary is made anew", isRebuilt);
  expect(rebuilt?.text).not.toContain("Porto");
  expect(rebuilt?.text).toMatch(/Tom|jazz/);
  expectRefusal(await forget(porto?.id ?? ""), { status: 404, code: "not_found" });
  expectRefusal(await forget("cello"), { status: 400, code: "invalid_request", field: "episode id" });
});
