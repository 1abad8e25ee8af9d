import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { messagesOf, listConversations, listMessages } from "../support/clients/api-client.ts";
import { whyNoBrowser } from "../servers/browser.ts";
import { closeWithoutProblems, openTestedPage, texts, type TestedPage } from "./tested-page.ts";
import type { ModelServer } from "../servers/model-server.ts";
import { openPageWorld, type PageWorld } from "./page-world.ts";
import { waitUntil } from "../support/wait-until.ts";

const missing = await whyNoBrowser();
if (missing) test.skip(`talking on the page (skipped: ${missing})`, () => undefined);

(missing ? describe.skip : describe)("talking on the page", () => {
  let world: PageWorld;
  let browser: Browser;
  let model: ModelServer;
  let url: string;
  let tested: TestedPage;
  let user: string;
  let users = 0;

  beforeAll(async () => {
    world = await openPageWorld();
    ({ browser, model, url } = world);
  }, 120_000);
  afterAll(() => world?.close());
  beforeEach(() => {
    user = `user ${++users}`;
    model.seen.length = 0;
    model.answer({});
  });
  afterEach(() => closeWithoutProblems(tested));

  test("asks who talks, keeps it, streams an answer, and finds both again in the list", async () => {
    model.answer({ tokens: ["Hello ", "**Ada**", "!"] });
    tested = await openTestedPage(browser, url, { user: null });
    const { page, answer } = tested;
    await page.getByLabel(texts.who.label).fill(user);
    await page.getByRole("button", { name: texts.who.go }).click();
    await tested.say("Good morning");
    await tested.settled();
    expect(await answer.locator(".markdown").innerText()).toBe("Hello Ada!");
    expect(await answer.locator("strong").innerText()).toBe("Ada");
    await page.reload();
    await page.getByRole("link", { name: /Good morning/ }).click();
    expect(await answer.locator(".markdown").innerText()).toBe("Hello Ada!");
    expect(await page.locator("article").count()).toBe(2);
    expect(page.url()).toContain("#/chat/");
  });

  test("stops an answer: what there is of it is kept as incomplete, and can be asked for again", async () => {
    model.answer({ tokens: Array.from({ length: 3_000 }, (_, index) => `w${index} `), betweenMs: 20 });
    tested = await openTestedPage(browser, url, { user });
    await tested.say("Tell me everything");
    await tested.answer.getByText("w5").waitFor();
    await tested.page.getByRole("button", { name: texts.chat.stop }).click();
    await tested.answer.getByText(texts.chat.stopped).waitFor();
    const [, kept] = await waitUntil("the partial answer is stored", async () => {
      const messages = await messagesOf(url, user, (await listConversations(url, user))[0]?.session_id ?? "");
      return messages.length === 2 && messages;
    });
    expect(kept).toMatchObject({ completed: false, content: expect.stringContaining("w5") });
    await waitUntil("the model was let go", () => model.seen[0]?.aborted);
    model.answer({ tokens: ["Now ", "whole."] });
    await tested.answer.getByRole("button", { name: texts.retry }).click();
    await tested.answer.getByText("Now whole.").waitFor();
  });

  test("goes on with an answer after a reload in its middle: once, whole, in order", async () => {
    const words = Array.from({ length: 120 }, (_, index) => `w${index} `);
    model.answer({ tokens: words, betweenMs: 60 });
    tested = await openTestedPage(browser, url, { user });
    await tested.say("A long story");
    await tested.answer.getByText("w10").waitFor();
    await tested.page.reload();
    await tested.answer.getByText("w10").waitFor();
    expect(await tested.page.locator("article.from-user").count()).toBe(1);
    await tested.settled();
    expect(await tested.answer.locator(".markdown").innerText()).toBe(words.join("").trim());
    expect(model.seen).toHaveLength(1);
  });

  test("goes on when the reload came before the first byte: the same key finds the same turn", async () => {
    const until = Promise.withResolvers<void>();
    model.answer({ tokens: ["late ", "answer"], until: until.promise });
    tested = await openTestedPage(browser, url, { user });
    await tested.say("Hello?");
    await waitUntil("the model is asked", () => model.seen.length === 1);
    await tested.page.reload();
    await tested.page.locator("article.from-user").waitFor();
    until.resolve();
    await tested.answer.getByText("late answer").waitFor();
    expect(model.seen).toHaveLength(1);
  });

  test("a failed turn says why, and a retry answers the same stored message, also after a reload", async () => {
    model.answer({ status: 500 });
    tested = await openTestedPage(browser, url, { user, refusals: [503] });
    await tested.say("Will this work?");
    await tested.answer.getByText(texts.chat.failed).waitFor();
    expect(await tested.answer.locator(".note.error code").innerText()).toMatch(/^model_/);
    await tested.page.reload();
    await tested.answer.getByText(texts.chat.failed).waitFor();
    model.answer({ tokens: ["It ", "did."] });
    await tested.answer.getByRole("button", { name: texts.retry }).click();
    await tested.answer.getByText("It did.").waitFor();
    await tested.settled();
    const [conversation] = await listConversations(url, user);
    const messages = await listMessages(url, conversation?.id ?? "");
    expect(messages.map(({ role, content }) => [role, content])).toEqual([
      ["user", "Will this work?"],
      ["assistant", "It did."],
    ]);
  });

  test("a message that was left without an answer stands as one, in its place", async () => {
    model.answer({ status: 400 });
    tested = await openTestedPage(browser, url, { user, refusals: [503] });
    await tested.say("Nobody answers this");
    await tested.answer.getByText(texts.chat.failed).waitFor();
    model.answer({ tokens: ["an ", "answer"] });
    await tested.say("And this?");
    await tested.settled();
    await tested.page.reload();
    await tested.page.getByRole("link", { name: /Nobody answers this/ }).click();
    await tested.answer.getByText("an answer").waitFor();
    const [left, answered] = await tested.page.locator("article.from-user").allInnerTexts();
    expect(left).toContain(texts.chat.noAnswer);
    expect(answered).not.toContain(texts.chat.noAnswer);
    await tested.page.getByRole("button", { name: texts.chat.inspect }).first().click();
    await tested.page.locator(".inspector .badge", { hasText: texts.inspector.states.failed }).waitFor();
  });

  test("says which layer an answer was given without, for a knowledge base that was chosen by hand", async () => {
    await fetch(`${url}/api/v1/knowledge/travel`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ description: "Hotels and trains" }),
    });
    tested = await openTestedPage(browser, url, { user });
    await tested.page.getByRole("combobox", { name: texts.chat.knowledge }).selectOption("travel");
    await tested.page.getByRole("combobox", { name: texts.chat.agent }).selectOption("naive_rag_agent");
    await tested.say("Which hotel?");
    await tested.answer.getByText(texts.chat.withoutLayers(texts.layers.knowledge)).waitFor();
    await tested.answer.getByRole("button", { name: texts.chat.inspect }).click();
    await tested.page.getByText("travel:naive_rag_agent").waitFor();
    expect(await tested.page.getByText(texts.inspector.methods["requested"] ?? "").count()).toBeGreaterThan(0);
  });

  test("takes a conversation up in another one while the first is still answered", async () => {
    model.answer(({ messages }) => ({ tokens: [`re ${messages.at(-1)?.content ?? ""}`], firstTokenMs: 1_000 }));
    tested = await openTestedPage(browser, url, { user });
    await tested.say("first");
    await tested.page.getByRole("button", { name: texts.conversations.fresh }).click();
    await tested.say("second");
    await tested.settled();
    expect(await tested.page.locator("article.from-user").allInnerTexts()).toEqual([expect.stringContaining("second")]);
    await tested.page.getByRole("link", { name: /^first/ }).click();
    await tested.page.locator("article.from-assistant", { hasText: "re first" }).waitFor();
  });
});
