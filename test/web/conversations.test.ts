import { expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { zh } from "../../web/texts/zh.ts";
import { listConversations } from "../support/clients/api-client.ts";
import { waitUntil } from "../support/wait-until.ts";
import { conversationApi } from "../support/services/service-with-episodes.ts";
import { findingsOn } from "./findings.ts";
import { describePage, sayAndSettle, startOfflineService, texts } from "./tested-page.ts";

const t = texts.conversations;

describePage("in the list of conversations,", startOfflineService, (on) => {
  const say = (message: string, session: string) => sayAndSettle(on.url, on.user, message, session);
  const openMenu = async (tested: Awaited<ReturnType<typeof on.open>>, title: string): Promise<void> => {
    await tested.page.getByRole("link", { name: title }).hover();
    await tested.press(t.actions(title));
  };

  test.each([
    ["below its button", 850, true],
    ["above its button where there is no room below", 320, false],
  ])("the menu of a conversation opens %s", async (_where, height, isBelow) => {
    await say("The lighthouse film.", "films");
    const tested = await on.open({ viewport: { width: 1360, height } });
    await openMenu(tested, "The lighthouse film.");
    const button = await tested.page.getByRole("button", { name: t.actions("The lighthouse film.") }).boundingBox();
    const menu = await tested.page.locator(".menu:popover-open").boundingBox();
    expect((menu?.y ?? 0) > (button?.y ?? 0)).toBe(isBelow);
  });

  test("a conversation is renamed, pinned, archived and taken out of the archive", async () => {
    await say("The lighthouse film.", "films");
    await say("Tomatoes need sun.", "garden");
    const tested = await on.open();
    const { page } = tested;
    const titles = (): Promise<string[]> => page.locator(".conversation-title").allInnerTexts();
    await openMenu(tested, "The lighthouse film.");
    expect(await findingsOn(page)).toEqual([]);
    await tested.press(t.rename);
    await page.getByLabel(t.newTitle).fill("电影 by the sea");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "电影 by the sea" }).waitFor();
    await openMenu(tested, "电影 by the sea");
    await tested.press(t.pin);
    await waitUntil("the pinned one is first", async () => (await titles())[0]?.includes("电影 by the sea") ?? false);
    await openMenu(tested, "Tomatoes need sun.");
    await page.getByRole("button", { name: t.archive, exact: true }).click();
    await page.getByRole("link", { name: "Tomatoes" }).waitFor({ state: "detached" });
    await tested.press(t.archived);
    await tested.follow(/Tomatoes/);
    await tested.answer.waitFor();
    await openMenu(tested, "Tomatoes need sun.");
    await tested.press(t.unarchive);
    await tested.press(t.leaveArchive);
    await page.getByRole("link", { name: "Tomatoes" }).waitFor();
    expect(await listConversations(on.url, on.user)).toMatchObject([
      { title: "Tomatoes need sun.", pinned: false, archived: false },
      { title: "电影 by the sea", pinned: true, archived: false },
    ]);
  });

  test("a deleted conversation is gone from the page at once, comes back with Undo, and is erased when the page is left", async () => {
    const id = await say("Short lived.", "s");
    const tested = await on.open({ at: `/#/chat/${id}` });
    const { page } = tested;
    await tested.answer.waitFor();
    await openMenu(tested, "Short lived.");
    await tested.press(t.erase);
    const toast = page.locator(".toast");
    await toast.getByText(t.deleted("Short lived.")).waitFor();
    expect(await findingsOn(page)).toEqual([]);
    await page.getByText(t.none).waitFor();
    expect(await page.locator("article").count()).toBe(0);
    await tested.press(t.undo, toast);
    await tested.answer.waitFor();
    expect(await listConversations(on.url, on.user)).toHaveLength(1);
    await openMenu(tested, "Short lived.");
    await tested.press(t.erase);
    await toast.waitFor();
    await page.reload();
    await waitUntil("it is erased", async () => (await listConversations(on.url, on.user)).length === 0);
  });

  test("titles and messages are searched, and a found message is opened", async () => {
    await say("My cousin Ines repairs old radios.", "radio");
    await say("Tomatoes need sun.", "garden");
    await say("我的表妹修理旧收音机。", "zh");
    const tested = await on.open();
    const { page } = tested;
    const search = page.getByLabel(t.search);
    await search.fill("ines radios");
    const found = page.getByRole("region", { name: t.messagesFound });
    await found.getByRole("link", { name: /cousin Ines/ }).waitFor();
    expect(await page.locator(".conversation-title").allInnerTexts()).toEqual([expect.stringContaining("cousin Ines")]);
    expect(await findingsOn(page)).toEqual([]);
    await search.fill("收音机");
    await found.getByRole("link", { name: /表妹/ }).click();
    await page.locator("article.from-user", { hasText: "表妹" }).waitFor();
    expect(page.url()).toMatch(/#\/chat\/[^/]+\/[^/]+$/);
    await search.fill("tomatoes");
    await page.locator(".conversation-title", { hasText: "Tomatoes" }).waitFor();
    await search.fill("nothing like that");
    await page.getByText(t.nothingFound).waitFor();
  });

  test("a search finds titles that the list has not loaded, and archived ones", async () => {
    const { say: tell } = conversationApi(on.url);
    const { conversation_id: oldest } = await tell(on.user, "The lighthouse at 100 % fog", "s-0");
    for (let number = 1; number <= 50; number++) await tell(on.user, `Talk ${number}`, `s-${number}`);
    const tested = await on.open();
    const { page } = tested;
    await page.getByRole("link", { name: "Talk 50" }).waitFor();
    expect(await page.getByRole("link", { name: /lighthouse/ }).count()).toBe(0);
    await page.getByLabel(t.search).fill("FOG 100 %");
    await page.locator(".conversation-title", { hasText: "lighthouse" }).waitFor();
    expect(await page.locator(".conversation-title").count()).toBe(1);
    await fetch(`${on.url}/api/v1/conversations/${oldest}`, {
      method: "PATCH",
      headers: { "content-type": "application/json" },
      body: '{"archived":true}',
    });
    await page.reload();
    await page.getByLabel(t.search).fill("lighthouse fog");
    await page.locator(".conversation-title", { hasText: "lighthouse" }).waitFor();
  });

  test("a conversation that is made elsewhere appears when somebody comes back to the page, and after a while", async () => {
    const { page } = await on.open();
    await page.clock.install();
    await page.reload();
    await page.getByText(t.none).waitFor();
    await page.clock.pauseAt(Date.now() + 60_000);
    await say("From another device", "elsewhere");
    await page.evaluate("dispatchEvent(new Event('focus'))");
    await page.getByRole("link", { name: /From another device/ }).waitFor();
    await say("From a third one", "elsewhere again");
    await page.clock.fastForward(60_000);
    await page.getByRole("link", { name: /From a third one/ }).waitFor();
  });

  test("an unknown conversation is called unknown, and the next message begins a new one", async () => {
    const tested = await on.open({ at: `/#/chat/${uuidv7()}`, locale: "zh-CN" });
    await tested.page.getByText(zh.conversations.unknown).waitFor();
    await tested.say("Hello");
    await tested.settled();
    expect(await listConversations(on.url, on.user)).toHaveLength(1);
  });

  test("a new person is offered a name, and goes on with one key", async () => {
    const tested = await on.open({ user: null });
    const { page } = tested;
    await page.getByLabel(texts.who.label).waitFor();
    expect(await page.getByLabel(texts.who.label).inputValue()).toMatch(/^guest-[0-9a-f]{4}$/);
    await page.keyboard.press("Enter");
    await page.locator("#message").waitFor();
    expect(await page.locator(".who-name").innerText()).toMatch(/^guest-/);
  });
});
