import { expect, test } from "@jest/globals";
import { callApi, messagesOf } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { useServiceWithEpisodes } from "../../support/services/service-with-episodes.ts";
import { waitUntil } from "../../support/wait-until.ts";

// The built-in summariser and the rules: no model is asked.
const SETTINGS = {
  OPENAI_BASE_URL: "",
  ENABLE_CORE_MEMORY: "true",
  SUMMARY_MIN_MESSAGES: "4",
  SUMMARY_UPDATE_DELTA: "2",
  HISTORY_WINDOW: "2",
};
const running = useServiceWithEpisodes(SETTINGS);

test("an exchange that is forgotten is gone from every layer, the summary is made anew, and the rest stays", async () => {
  const user = `${running.url}/api/v1/users/ada`;
  const forget = (episode = "") => callApi(`${user}/episodes/${episode}`, { method: "DELETE" });
  let conversation = "";
  for (const message of ["I moved to Porto.", "My cat Tom ate the curtains on Monday.", "I like jazz a lot.", "I bought a red bicycle."]) {
    conversation = (await running.say("ada", message)).conversation_id;
    await running.settle(conversation);
  }
  const summary = `${running.url}/api/v1/conversations/${conversation}/summary`;
  const read = async (address: string) => (await callApi<unknown>(address)).text;
  const layers = [`${user}/core-memory`, `${user}/memory-operations`, `${user}/core-memory/profile/history`];
  for (const address of [summary, ...layers]) expect(await read(address)).toContain("Porto");

  const [porto] = (await running.episodes("ada", { query: "Porto" })).json.episodes;
  const { status, json } = await forget(porto?.id);
  const erased = { messages: 2, summaries: 1, episodes: 1, core_memory_sections: 1, memory_operations: 1, jobs: 0 };
  expect({ status, json }).toEqual({ status: 200, json: { erased } });
  const contents = (await messagesOf(running.url, "ada", "s")).map(({ content }) => content).join("\n");
  expect(contents).not.toContain("Porto");
  expect(contents).toContain("jazz");
  expect((await running.episodes("ada", { query: "Porto" })).json.episodes.map(({ id }) => id)).not.toContain(porto?.id);
  for (const address of layers) expect(await read(address)).not.toContain("Porto");
  for (const address of layers.slice(0, 2)) expect(await read(address)).toContain("jazz");

  await running.settle(conversation);
  const rebuilt = await waitUntil("the summary is made anew", async () => /Tom|jazz/.test(await read(summary)) && read(summary));
  expect(rebuilt).not.toContain("Porto");
  expectRefusal(await forget(porto?.id), { status: 404, code: "not_found" });
  expectRefusal(await forget("cello"), { status: 400, code: "invalid_request", field: "episode id" });
});
