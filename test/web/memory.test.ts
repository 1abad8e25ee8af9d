import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { callApi, listConversations, postJson } from "../support/clients/api-client.ts";
import { openBrowser, whyNoBrowser } from "../servers/browser.ts";
import { closeWithoutProblems, openTestedPage, texts, type TestedPage } from "./tested-page.ts";
import { killServiceProcesses, startServiceProcess } from "../servers/service-process.ts";
import { waitUntil } from "../support/wait-until.ts";

const missing = await whyNoBrowser();
if (missing) test.skip(`the memory of a user on the page (skipped: ${missing})`, () => undefined);

(missing ? describe.skip : describe)("the memory of a user on the page", () => {
  const t = texts.memory;
  let browser: Browser;
  let url: string;
  let tested: TestedPage;
  let user: string;
  let users = 0;

  beforeAll(async () => {
    ({ url } = await startServiceProcess({
      DATA_DIR: "memory://",
      RATE_LIMIT_PER_MINUTE: "0",
      MEMORY_READ_TIMEOUT_MS: "10000",
      CORE_MEMORY_SECTIONS: "allergies",
    }));
    browser = await openBrowser();
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await killServiceProcesses();
  });
  beforeEach(() => void (user = `user-${++users}`));
  afterEach(() => closeWithoutProblems(tested));

  async function say(message: string): Promise<string> {
    const body = { user_id: user, session_id: "s", message };
    const { json } = await postJson<{ conversation_id: string }>(`${url}/api/v1/chat`, body);
    await postJson(`${url}/api/v1/conversations/${json.conversation_id}/settle?timeout_ms=50000`, {});
    return json.conversation_id;
  }
  const write = (section: string, content: string) =>
    fetch(`${url}/api/v1/users/${user}/core-memory/${section}`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ content }),
    });
  const profile = async (): Promise<string | undefined> => {
    const { json } = await callApi<{ sections: { section: string; content: string }[] }>(`${url}/api/v1/users/${user}/core-memory`);
    return json.sections.find(({ section }) => section === "profile")?.content;
  };

  test("a section is written, edited, looked back at and reverted", async () => {
    tested = await openTestedPage(browser, url, { user, at: "/#/memory/core" });
    const card = tested.page.locator("[data-section=profile]");
    for (const [index, content] of ["Lives in Lisbon.", "Lives in Porto."].entries()) {
      await card.getByRole("button", { name: t.core.edit }).click();
      await card.getByLabel(t.core.label("Profile")).fill(content);
      await card.getByRole("button", { name: t.core.save }).click();
      await card
        .getByText(t.core.version(index + 1))
        .first()
        .waitFor();
    }
    await card.getByRole("button", { name: t.core.history }).click();
    await card.getByRole("button", { name: `${t.core.revert}: ${t.core.version(1)}` }).click();
    await card.getByText(t.core.version(3)).first().waitFor();
    expect(await profile()).toBe("Lives in Lisbon.");
    await card.getByRole("button", { name: t.core.remove }).click();
    await card.getByText(t.core.empty, { exact: true }).waitFor();
    expect(await profile()).toBeUndefined();
  });

  test("sections that a service was set up with are shown while they are empty, and can be written", async () => {
    tested = await openTestedPage(browser, url, { user, at: "/#/memory/core" });
    const card = tested.page.locator("[data-section=allergies]");
    await card.getByText(t.core.empty, { exact: true }).waitFor();
    expect(await tested.page.locator(".section").count()).toBe(6);
    await card.getByRole("button", { name: t.core.edit }).click();
    await card.getByLabel(t.core.label("allergies")).fill("No nuts.");
    await card.getByRole("button", { name: t.core.save }).click();
    await card.getByText(t.core.version(1)).first().waitFor();
    const { json } = await callApi<{ sections: object[] }>(`${url}/api/v1/users/${user}/core-memory`);
    expect(json.sections).toMatchObject([{ section: "allergies", content: "No nuts." }]);
  });

  test("somebody else's edit meanwhile is shown before anything is overwritten", async () => {
    await write("profile", "Lives in Lisbon.");
    tested = await openTestedPage(browser, url, { user, at: "/#/memory/core", refusals: [409] });
    const card = tested.page.locator("[data-section=profile]");
    await card.getByRole("button", { name: t.core.edit }).click();
    await card.getByLabel(t.core.label("Profile")).fill("Lives on the moon.");
    await write("profile", "Lives in Faro.");
    await card.getByRole("button", { name: t.core.save }).click();
    await card.locator(".stale", { hasText: "Lives in Faro." }).waitFor();
    expect(await profile()).toBe("Lives in Faro.");
    await card.getByRole("button", { name: t.core.keepMine }).click();
    await card.getByText(t.core.version(3)).first().waitFor();
    expect(await profile()).toBe("Lives on the moon.");
  });

  test("exchanges are found, lead to their conversation, and single ones are forgotten", async () => {
    await say("My favourite painter is Paula Rego.");
    await say("The train leaves at nine.");
    tested = await openTestedPage(browser, url, { user, at: "/#/memory/episodes" });
    const { page } = tested;
    const found = page.locator(".cards .card", { hasText: "Paula Rego" });
    async function search(): Promise<void> {
      await page.getByRole("searchbox").fill("favourite painter");
      await page.getByRole("button", { name: t.episodes.go }).click();
    }
    await search();
    await found.getByRole("link", { name: texts.inspector.jump }).click();
    await page.locator("article.from-user", { hasText: "Paula Rego" }).waitFor();
    await page.goBack();
    await search();
    await found.getByRole("button", { name: t.episodes.forget }).click();
    await page.getByRole("dialog").getByRole("button", { name: t.episodes.forget }).click();
    await page.locator(".note.success").waitFor();
    await found.waitFor({ state: "detached" });
  });

  test("changes are listed, and the queue of a conversation is shown", async () => {
    await say("I live in Lisbon.");
    tested = await openTestedPage(browser, url, { user, at: "/#/memory/changes" });
    await tested.page.locator(".operation .after", { hasText: "Lisbon" }).first().waitFor();
    await tested.page.getByRole("link", { name: t.tabs.jobs }).click();
    await tested.page.getByText(t.jobs.none).waitFor();
  });

  test("everything is erased only when the id was typed, and the receipt says what it was", async () => {
    const id = await say("I live in Lisbon.");
    tested = await openTestedPage(browser, url, { user, at: `/#/chat/${id}` });
    const { page } = tested;
    await tested.answer.waitFor();
    await page.getByRole("link", { name: texts.views.memory }).click();
    await page.getByRole("link", { name: t.tabs.erase }).click();
    const go = page.getByRole("button", { name: t.erase.go });
    expect(await go.isDisabled()).toBe(true);
    await page.getByLabel(t.erase.type(user)).fill(user.toUpperCase());
    expect(await go.isDisabled()).toBe(true);
    await page.getByLabel(t.erase.type(user)).fill(user);
    await go.click();
    const receipt = page.locator(".note.success");
    await receipt.waitFor();
    expect((await receipt.innerText()).replace(/\s+/g, " ")).toContain("Messages 2");
    expect(await listConversations(url, user)).toEqual([]);
    await page.getByRole("link", { name: texts.views.chat }).click();
    await page.getByText(texts.chat.empty).waitFor();
    expect(await page.locator("article").count()).toBe(0);
  });

  test("a JSON file is imported with its progress, and opened", async () => {
    tested = await openTestedPage(browser, url, { user });
    const { page } = tested;
    const messages = Array.from({ length: 1_200 }, (_, index) => ({
      role: index % 2 ? "assistant" : "user",
      content: `imported ${index}`,
    }));
    const file = (content: unknown) => ({
      name: "from-elsewhere.json",
      mimeType: "application/json",
      buffer: Buffer.from(JSON.stringify(content)),
    });
    await page.getByRole("button", { name: texts.conversations.import }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel(texts.import.file).setInputFiles(file({ messages: "none" }));
    await dialog.getByRole("button", { name: texts.import.go }).click();
    await dialog.getByText(texts.import.notMessages).waitFor();
    await dialog.getByLabel(texts.import.file).setInputFiles(file(messages));
    await page.evaluate(
      "window.seen = []; new MutationObserver(() => { const bar = document.querySelector('progress'); if (bar) window.seen.push(bar.value); }).observe(document.body, { subtree: true, childList: true, attributes: true })",
    );
    await dialog.getByRole("button", { name: texts.import.go }).click();
    await dialog.getByText(texts.import.result(1_200, 0)).waitFor();
    expect(await page.evaluate<number>("Math.max(...window.seen)")).toBe(1_200);
    await dialog.getByRole("button", { name: texts.import.open }).click();
    await page.getByText("imported 1199", { exact: true }).waitFor();
    expect(await page.locator("article").count()).toBe(100);
    await waitUntil("the list names it", () => page.getByRole("link", { name: /imported 0/ }).count());
  });

  test("a conversation is erased after a question", async () => {
    await say("Short lived.");
    tested = await openTestedPage(browser, url, { user });
    const { page } = tested;
    await page.getByRole("link", { name: /Short lived/ }).hover();
    await page.getByRole("button", { name: `${texts.conversations.erase}: Short lived.` }).click();
    await page.getByRole("dialog").getByRole("button", { name: texts.conversations.eraseGo, exact: true }).click();
    await page.getByText(texts.conversations.none).waitFor();
    expect(await listConversations(url, user)).toEqual([]);
  });
});
