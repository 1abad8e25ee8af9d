import { expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { callApi, listConversations, messagesOf, postJson } from "../support/clients/api-client.ts";
import { conversationApi } from "../support/services/service-with-episodes.ts";
import { waitUntil } from "../support/wait-until.ts";
import { describePage, startModelService, texts, words } from "./tested-page.ts";

describePage("a long or shared conversation on the page", startModelService, (on) => {
  /** A conversation of `count` messages, "number 0" the oldest; resolves with its id. */
  async function importMany(count: number): Promise<string> {
    const messages = Array.from({ length: count }, (_, index) => ({
      role: index % 2 ? "assistant" : "user",
      content: `number ${index}${"\n\nand a second paragraph".repeat(index % 3)}`,
    }));
    return (await conversationApi(on.url).bring(on.user, messages, "long")).conversation_id;
  }
  const oldestOf = async (conversation: string): Promise<string> => {
    const address = `${on.url}/api/v1/conversations/${conversation}/messages?limit=1`;
    return (await callApi<{ messages: { id: string }[] }>(address)).json.messages[0]?.id ?? "";
  };
  const articles = (page: Page) => page.locator("article").count();
  const topOf = (page: Page, text: string): Promise<number> =>
    page
      .locator("article", { hasText: text })
      .first()
      .evaluate((element) => (element as unknown as { getBoundingClientRect(): { top: number } }).getBoundingClientRect().top);

  test("opens with the newest messages in one request, shows earlier ones by a button, and does not move what is read", async () => {
    const id = await importMany(230);
    const tested = await on.open();
    const { page } = tested;
    const lists: string[] = [];
    page.on("request", (request) => void (request.url().includes(`${id}/messages`) && lists.push(request.url())));
    await tested.follow(/number 0/);
    await page.getByText("number 229", { exact: true }).waitFor();
    expect([await articles(page), lists.length]).toEqual([100, 1]);
    await page.locator(".thread").focus();
    await page.keyboard.press("Tab");
    expect(await page.evaluate<string>("document.activeElement.textContent")).toBe(texts.chat.earlier);
    await waitUntil("the button is on the screen", () => topOf(page, "number 130").then((top) => top > 0));
    const before = await topOf(page, "number 130");
    await page.keyboard.press("Enter");
    await waitUntil("the earlier ones are there", async () => (await articles(page)) === 200);
    await page.waitForTimeout(300); // what is scrolled into view is set anew
    expect(Math.abs((await topOf(page, "number 130")) - before)).toBeLessThan(3);
    expect(await page.evaluate<string>("document.activeElement.textContent")).toContain("number 130");
    expect(lists).toHaveLength(2);
  });

  test("keeps the newest message in sight when a phone's keyboard takes room, unless another message is pressed", async () => {
    await importMany(30);
    const tested = await on.open();
    const { page } = tested;
    await tested.follow(/number 0/);
    const newest = page.getByText("number 29", { exact: true });
    await newest.waitFor();
    const belowTheEnd = (): Promise<number> =>
      page.evaluate(
        "(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight)(document.querySelector('.thread'))",
      );
    await waitUntil("the end is shown", async () => (await belowTheEnd()) < 2);
    const { width, height } = page.viewportSize() ?? { width: 0, height: 0 };
    await page.setViewportSize({ width, height: height - 300 });
    await waitUntil("the end is shown again", async () => (await belowTheEnd()) < 2);
    await page.evaluate("document.querySelector('.thread').scrollTop = 0"); // as assistive technology does
    await page.locator(".thread").getByText("number 0", { exact: true }).hover();
    await page.mouse.down();
    await page.setViewportSize({ width, height });
    await page.waitForTimeout(300);
    expect(await belowTheEnd()).toBeGreaterThan(200);
  });

  test("shows earlier messages, too, when somebody scrolls up to the first one, until there are none", async () => {
    await importMany(230);
    const tested = await on.open();
    const { page } = tested;
    await tested.follow(/number 0/);
    await page.getByText("number 229", { exact: true }).waitFor();
    await page.locator(".thread").hover();
    await waitUntil("all are there", async () => {
      await page.mouse.wheel(0, -4_000);
      await page.waitForTimeout(50);
      return (await articles(page)) === 230;
    });
    await page.getByRole("button", { name: texts.chat.earlier }).waitFor({ state: "detached" });
    expect(await page.locator("article").first().textContent()).toContain("number 0");
  });

  test("shows earlier messages although the first request for them is lost and a turn ends before the second is answered", async () => {
    const id = await importMany(230);
    on.model.answer({ tokens: ["Meanwhile."] });
    const tested = await on.open({ losesConnection: true, at: `/#/chat/${id}` });
    const { page } = tested;
    await page.getByText("number 229", { exact: true }).waitFor();
    const answered = Promise.withResolvers<void>();
    let asked = 0;
    await page.route(/messages\?.*after=/, async (route) => {
      if (asked++ === 0) return route.abort("connectionreset");
      await answered.promise;
      return route.continue();
    });
    await tested.press(texts.chat.earlier);
    await tested.say("And now?");
    await tested.answer.getByText("Meanwhile.").waitFor();
    await tested.settled();
    await page.waitForTimeout(500); // the stored messages take the place of the turn
    answered.resolve();
    await waitUntil("the earlier ones are there", async () => (await articles(page)) === 202);
    expect(asked).toBe(2);
  });

  test("leads to an old message that an address names, or says that it lies too far back", async () => {
    const id = await importMany(700);
    const oldest = await oldestOf(id);
    const { page } = await on.open({ at: `/#/chat/${id}` });
    await page.getByText("number 699", { exact: true }).waitFor();
    await page.evaluate(`location.hash = "#/chat/${id}/${oldest}"`);
    await page.getByText("number 0", { exact: true }).last().waitFor();
    await waitUntil("it has the focus", () => page.evaluate<boolean>(`document.activeElement?.id === "message-${oldest}"`));
    on.user = "of a very long conversation";
    const far = await importMany(4_300);
    const other = await on.open({ at: `/#/chat/${far}/${await oldestOf(far)}` });
    await other.page.getByText(texts.chat.farBack).waitFor();
    expect(await articles(other.page)).toBe(4_000);
  });

  test("shows an answer to another device's question, which can be stopped, and shows its end without a reload", async () => {
    const seen = on.model.seen.length;
    on.model.answer({ tokens: words("w", 60), betweenMs: 50 });
    const first = await on.open();
    await first.say("Asked on the first device");
    await first.answer.getByText("w3").waitFor();
    const [conversation] = await listConversations(on.url, on.user);
    const tested = await on.open({ at: `/#/chat/${conversation?.id ?? ""}` });
    await tested.page.getByRole("button", { name: texts.chat.stop }).waitFor();
    await tested.answer.getByText("w59").waitFor();
    await tested.settled();
    expect(await tested.page.getByText(texts.chat.noAnswer).count()).toBe(0);
    expect(await articles(tested.page)).toBe(2);
    await first.settled();
    await first.close();

    on.model.answer({ tokens: words("v", 3_000), betweenMs: 50 });
    const sent = postJson(`${on.url}/api/v1/chat`, { user_id: on.user, session_id: conversation?.session_id, message: "Once more" });
    const isAsked = () => messagesOf(on.url, on.user, conversation?.session_id ?? "").then(({ length }) => length === 3);
    await waitUntil("it is asked", isAsked);
    await tested.page.reload();
    await tested.answer.getByText("v3").waitFor();
    await tested.press(texts.chat.stop);
    await tested.answer.getByText(texts.chat.stopped).waitFor();
    expect(await tested.answer.getByRole("button", { name: texts.retry }).count()).toBe(0);
    expect((await sent).status).toBeGreaterThanOrEqual(400);
    expect(on.model.seen.length - seen).toBe(2);
  });
});
