import { beforeEach, describe, expect, test } from "@jest/globals";
import { callApi } from "../../support/clients/api-client.ts";
import type { ScriptedToolCall } from "../../servers/model-server.ts";
import { callOnce, useServiceWithCoreMemory } from "../../support/services/service-with-core-memory.ts";
import { importedTurns } from "../../support/services/service-with-episodes.ts";

const profile = (content: string, turns?: unknown): ScriptedToolCall => ({
  name: "core_memory_update",
  arguments: { section: "profile", content, reason: `said: ${content}`, ...(turns === undefined ? {} : { turns }) },
});

describe("erasing one exchange of several that the memory agent read together", () => {
  const running = useServiceWithCoreMemory({
    ENABLE_EPISODIC_MEMORY: "true",
    EMBEDDING_MODEL: "built-in",
    ENABLE_SUMMARY: "false",
  });
  let user: string;
  beforeEach(() => {
    user = crypto.randomUUID();
    running.model.seen.splice(0);
  });

  /** Has the agent read these messages together and make these calls; the conversation. */
  async function teach(messages: string[], ...calls: ScriptedToolCall[]): Promise<string> {
    running.remember(callOnce(...calls));
    const { conversation_id: id } = await running.bring(user, importedTurns(messages.map((message) => [message, "Noted."])));
    await running.settle(id);
    running.remember(() => ({ tokens: ["nothing to do"] }));
    running.model.seen.splice(0);
    return id;
  }

  async function erase(word: string): Promise<void> {
    const episode = (await running.episodes(user, word)).find(({ user_message }) => user_message.includes(word));
    const address = `${running.url}/api/v1/users/${user}/episodes/${episode?.id}`;
    expect((await callApi(address, { method: "DELETE" })).status).toBeLessThan(300);
  }
  async function eraseAndSettle(conversationId: string, word: string): Promise<void> {
    await erase(word);
    await running.settle(conversationId);
  }

  const everything = async (): Promise<string> =>
    JSON.stringify([await running.read(user), (await running.history(user, "profile")).json, (await running.operations(user)).json]);
  const contents = async (): Promise<string | undefined> => (await running.read(user))[0]?.content;
  const readAgain = (): string[] =>
    running.memoryRequests().flatMap(({ body }) => body.messages[1]?.content.match(/(?<=<user_message>\n> ).*/g) ?? []);

  test.each([
    ["Porto", "Lives in Porto", "Has a dog called Rex"],
    ["Rex", "Has a dog called Rex", "Lives in Porto"],
  ])("takes the fact about %s and leaves the other", async (word, gone, kept) => {
    const id = await teach(["I live in Porto", "My dog is called Rex"], profile("Lives in Porto\nHas a dog called Rex", [[1], [2]]));
    await eraseAndSettle(id, word);
    expect(await contents()).toBe(kept);
    expect(await everything()).not.toContain(gone);
    expect(await everything()).not.toContain(word);
  });

  test.each([
    ["that two of them say is decided anew from the one that is left", [[1, 2]]],
    ["of which the model does not say what it rests on is decided anew from all that is left", undefined],
  ])("a line %s", async (_name, turns) => {
    const id = await teach(["I live in Porto", "My dog is called Rex"], profile("Lives in Porto with a dog called Rex", turns));
    running.remember(callOnce(profile("Has a dog called Rex", [[1]])));
    await eraseAndSettle(id, "Porto");
    expect(readAgain().slice(0, 1)).toEqual(["My dog is called Rex"]);
    expect(await contents()).toBe("Has a dog called Rex");
    expect(await everything()).not.toContain("Porto");
    const [section] = await running.read(user);
    expect(section?.lines).toEqual([{ content: "Has a dog called Rex", trigger_message_ids: [expect.any(String)] }]);
  });

  test("takes what was put into other words since, with the exchange that said it first", async () => {
    const id = await teach(["I live in Porto"], profile("Lives in Porto", [[1]]));
    running.remember(callOnce(profile("住在波尔图，工程师", [[1]])));
    await running.settle((await running.say(user, "I am an engineer", "later")).conversation_id);
    expect(await contents()).toBe("住在波尔图，工程师");
    running.remember(callOnce(profile("工程师", [[1]])));
    await eraseAndSettle(id, "Porto");
    expect(await contents()).toBe("工程师");
    expect(await everything()).not.toMatch(/Porto|波尔图/);
  });

  test("takes what the agent archived from it, and has it archived anew from what is left", async () => {
    const archiving = { name: "archival_insert", arguments: { content: "Sold the boat Albatross in Porto.", episode_type: "outcome" } };
    const id = await teach(["I sold my boat Albatross", "It was in Porto"], archiving);
    running.remember(callOnce({ ...archiving, arguments: { ...archiving.arguments, content: "Sold the boat Albatross.", turns: [1] } }));
    await eraseAndSettle(id, "It was in Porto");
    const left = (await running.episodes(user, "Albatross Porto")).map(({ user_message }) => user_message);
    expect(left.toSorted()).toEqual(["I sold my boat Albatross", "Sold the boat Albatross."]);
    expect(await everything()).not.toContain("Porto");
  });

  test("goes on when the memory model is down: nothing of it is shown, and what is left is read when the model is back", async () => {
    const id = await teach(["I live in Porto", "My dog is called Rex"], profile("Lives in Porto with a dog called Rex"));
    running.remember(() => ({ status: 503 }));
    await erase("Porto");
    expect(await everything()).not.toMatch(/Porto/);
    running.remember(callOnce(profile("Has a dog called Rex", [[1]])));
    await running.settle(id);
    expect(await contents()).toBe("Has a dog called Rex");
  });
});
