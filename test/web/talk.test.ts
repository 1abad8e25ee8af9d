import { beforeEach, expect, test } from "@jest/globals";
import { messagesOf, listConversations, listMessages, putJson } from "../support/clients/api-client.ts";
import { waitUntil } from "../support/wait-until.ts";
import { describePage, startModelService, texts, words } from "./tested-page.ts";

describePage("the page of a conversation", startModelService, (on) => {
  beforeEach(() => {
    on.model.seen.length = 0;
    on.model.answer({});
  });

  test("asks who talks, keeps the name, streams an answer, and finds both again in the list", async () => {
    on.model.answer({ tokens: ["Hello ", "**Ada**", "!"] });
    const tested = await on.open({ user: null });
    const { page, answer } = tested;
    await page.getByLabel(texts.who.label).fill(on.user);
    await tested.press(texts.who.go);
    await tested.say("Good morning");
    await tested.settled();
    expect(await answer.locator(".markdown").innerText()).toBe("Hello Ada!");
    expect(await answer.locator("strong").innerText()).toBe("Ada");
    await page.reload();
    await tested.follow(/Good morning/);
    expect(await answer.locator(".markdown").innerText()).toBe("Hello Ada!");
    expect(await page.locator("article").count()).toBe(2);
    expect(page.url()).toContain("#/chat/");
  });

  test("stops an answer, keeps what there is as incomplete, and can ask for it again", async () => {
    on.model.answer({ tokens: words("w", 3_000), betweenMs: 20 });
    const tested = await on.open();
    await tested.say("Tell me everything");
    await tested.answer.getByText("w5").waitFor();
    await tested.press(texts.chat.stop);
    await tested.answer.getByText(texts.chat.stopped).waitFor();
    const [, kept] = await waitUntil("the partial answer is stored", async () => {
      const messages = await messagesOf(on.url, on.user, (await listConversations(on.url, on.user))[0]?.session_id ?? "");
      return messages.length === 2 && messages;
    });
    expect(kept).toMatchObject({ completed: false, content: expect.stringContaining("w5") });
    await waitUntil("the model was let go", () => on.model.seen[0]?.aborted);
    on.model.answer({ tokens: ["Now ", "whole."] });
    await tested.press(texts.retry, tested.answer);
    await tested.answer.getByText("Now whole.").waitFor();
  });

  test("goes on with an answer after a reload in its middle, once, whole and in order", async () => {
    const story = words("w", 60);
    on.model.answer({ tokens: story, betweenMs: 60 });
    const tested = await on.open();
    await tested.say("A long story");
    await tested.answer.getByText("w10").waitFor();
    await tested.page.reload();
    await tested.answer.getByText("w10").waitFor();
    expect(await tested.page.locator("article.from-user").count()).toBe(1);
    await tested.settled();
    expect(await tested.answer.locator(".markdown").innerText()).toBe(story.join("").trim());
    expect(on.model.seen).toHaveLength(1);
  });

  test("goes on when the reload comes before the first byte, because the same key finds the same turn", async () => {
    const until = Promise.withResolvers<void>();
    on.model.answer({ tokens: ["late ", "answer"], until: until.promise });
    const tested = await on.open();
    await tested.say("Hello?");
    await waitUntil("the model is asked", () => on.model.seen.length === 1);
    await tested.page.reload();
    await tested.page.locator("article.from-user").waitFor();
    until.resolve();
    await tested.answer.getByText("late answer").waitFor();
    expect(on.model.seen).toHaveLength(1);
  });

  test("says why a turn failed, and a retry answers the same stored message, even after a reload", async () => {
    on.model.answer({ status: 500 });
    const tested = await on.open({ refusals: [503] });
    await tested.say("Will this work?");
    await tested.answer.getByText(texts.chat.failed).waitFor();
    expect(await tested.answer.locator(".note.error code").innerText()).toMatch(/^model_/);
    await tested.page.reload();
    await tested.answer.getByText(texts.chat.failed).waitFor();
    on.model.answer({ tokens: ["It ", "did."] });
    await tested.press(texts.retry, tested.answer);
    await tested.answer.getByText("It did.").waitFor();
    await tested.settled();
    const [conversation] = await listConversations(on.url, on.user);
    const messages = await listMessages(on.url, conversation?.id ?? "");
    expect(messages.map(({ role, content }) => [role, content])).toEqual([
      ["user", "Will this work?"],
      ["assistant", "It did."],
    ]);
  });

  test("shows a message without an answer as such, in its place", async () => {
    on.model.answer({ status: 400 });
    const tested = await on.open({ refusals: [503] });
    await tested.say("Nobody answers this");
    await tested.answer.getByText(texts.chat.failed).waitFor();
    on.model.answer({ tokens: ["an ", "answer"] });
    await tested.say("And this?");
    await tested.settled();
    await tested.page.reload();
    await tested.follow(/Nobody answers this/);
    await tested.answer.getByText("an answer").waitFor();
    const [left, answered] = await tested.page.locator("article.from-user").allInnerTexts();
    expect(left).toContain(texts.chat.noAnswer);
    expect(answered).not.toContain(texts.chat.noAnswer);
    await tested.page.getByRole("button", { name: texts.chat.inspect }).first().click();
    await tested.page.locator(".inspector .badge", { hasText: texts.inspector.states.failed }).waitFor();
  });

  test("looks inside an answer that is still to come, and shows the end of its turn by itself", async () => {
    const release = on.model.hold(["at ", "last"]);
    const tested = await on.open();
    await tested.say("Take your time");
    await tested.press(texts.chat.inspect, tested.answer);
    const state = tested.page.locator(".inspector .badge");
    await state.getByText(texts.inspector.states.running).waitFor();
    release();
    await state.getByText(texts.inspector.states.done).waitFor();
  });

  test("says which layer an answer lacked for a knowledge base that was chosen by hand", async () => {
    await putJson(`${on.url}/api/v1/knowledge/travel`, { description: "Hotels and trains" });
    const tested = await on.open();
    await tested.page.locator(".composer-options summary").click();
    await tested.page.getByRole("combobox", { name: texts.chat.knowledge }).selectOption("travel");
    await tested.page.getByRole("combobox", { name: texts.chat.agent }).selectOption("naive_rag_agent");
    await tested.say("Which hotel?");
    await tested.answer.getByText(texts.chat.withoutLayers(texts.layers.knowledge)).waitFor();
    await tested.press(texts.chat.inspect, tested.answer);
    await tested.page.getByText("travel:naive_rag_agent").waitFor();
    expect(await tested.page.getByText(texts.inspector.methods["requested"] ?? "").count()).toBeGreaterThan(0);
    await tested.page.getByText(texts.inspector.unavailable).waitFor();
    expect(await tested.page.getByText(texts.inspector.noPassages).count()).toBe(0);
  });

  test("calls every layer that was away unavailable, and calls none of them empty", async () => {
    const tested = await on.open();
    await tested.say("What do you know?");
    await tested.settled();
    const degraded = ["core_memory", "summary", "episodic", "knowledge"];
    await tested.page.route(/\/api\/v1\/turns\/[^/]+$/, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...((await response.json()) as object), degraded } });
    });
    await tested.press(texts.chat.inspect, tested.answer);
    const { unavailable, noSections, noSummary, noEpisodes, noPassages } = texts.inspector;
    await tested.page.getByText(unavailable).first().waitFor();
    expect(await tested.page.getByText(unavailable).count()).toBe(degraded.length);
    for (const empty of [noSections, noSummary, noEpisodes, noPassages]) expect(await tested.page.getByText(empty).count()).toBe(0);
  });

  test("takes up another conversation while the first is still answered", async () => {
    on.model.answer(({ messages }) => ({ tokens: [`re ${messages.at(-1)?.content ?? ""}`], firstTokenMs: 1_000 }));
    const tested = await on.open();
    await tested.say("first");
    await tested.press(texts.conversations.fresh);
    await tested.say("second");
    await tested.settled();
    expect(await tested.page.locator("article.from-user").allInnerTexts()).toEqual([expect.stringContaining("second")]);
    await tested.follow(/^first/);
    await tested.page.locator("article.from-assistant", { hasText: "re first" }).waitFor();
  });
});
