import { expect, test } from "@jest/globals";
import { useServiceWithEpisodes } from "../../../support/services/service-with-episodes.ts";

const service = useServiceWithEpisodes({ EPISODE_SCOPE: "user", EPISODE_TOP_K: "4" });
const REX = "The capital of Lisbon is Rex.";

test("a model that says one thing to everything is found by the questions alone, and its answers stand in no later prompt", async () => {
  const { say, settle, episodes, model } = service;
  model.answer({ tokens: [REX] });
  for (const message of ["I live in Lisbon near the river.", "My dog is called Rex.", "I am allergic to peanuts."])
    await say("ada", message);
  for (let time = 0; time < 5; time++) await say("ada", "Where do I live?");
  const { conversation_id } = await say("ada", "What is my dog called?");
  await settle(conversation_id);

  const found = async (query: string): Promise<string[]> =>
    (await episodes("ada", { query, limit: "3" })).json.episodes.map(({ user_message }) => user_message);
  expect(await found("What is the capital?")).toEqual(["I live in Lisbon near the river."]);
  expect((await found("Where do I live?")).toSorted()).toEqual(["I live in Lisbon near the river.", "Where do I live?"]);

  await say("ada", "Where do I live, and what is my dog called?", "another day");
  const prompt =
    model.seen
      .at(-1)
      ?.body.messages.map(({ content }) => content)
      .join("\n") ?? "";
  expect(prompt).toContain("I live in Lisbon near the river.");
  expect(prompt).toContain("My dog is called Rex.");
  expect(prompt).not.toContain(REX);
});
