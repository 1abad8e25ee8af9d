import { expect, test } from "@jest/globals";
import { zh } from "../../web/texts/zh.ts";
import { openTestService } from "../support/services/service.ts";
import { findingsOn, findingsInBothThemes } from "./findings.ts";
import { describePage, sayAndSettle, startOfflineService, texts } from "./tested-page.ts";

async function startService() {
  const service = await startOfflineService();
  const guarded = await openTestService({ API_KEYS: "a-long-secret:acme" });
  let conversation = "";
  for (const message of ["I live in Lisbon.", "I like quiet films."]) conversation = await sayAndSettle(service.url, "ada", message);
  return { ...service, guarded, conversation, close: () => Promise.all([service.close(), guarded.close()]) };
}

describePage("the page for everybody", startService, (on) => {
  test("no view has a serious problem for assistive technology, light or dark", async () => {
    const tested = await on.open({ at: `/#/chat/${on.conversation}`, user: "ada" });
    const { page } = tested;
    const found: Record<string, string[]> = {};
    await tested.press(texts.chat.inspect, tested.answer);
    await page.locator(".operation").first().waitFor();
    found["chat"] = await findingsInBothThemes(page);
    const dialog = page.getByRole("dialog");
    await tested.press(texts.conversations.import);
    await dialog.waitFor();
    found["import"] = await findingsInBothThemes(page);
    await page.keyboard.press("Escape");
    const script = Promise.withResolvers<void>();
    await page.route("**/settings-dialog-*.js", (route) => script.promise.then(() => route.continue()));
    await tested.press(texts.settings.open);
    await page.getByText(texts.loading, { exact: true }).waitFor();
    found["settings that load"] = await findingsInBothThemes(page);
    script.resolve();
    await dialog.waitFor();
    found["settings"] = await findingsInBothThemes(page);
    await page.keyboard.press("Escape");
    for (const tab of ["core", "episodes", "changes", "jobs", "erase"] as const) {
      await page.goto(`${on.url}/#/memory/${tab}`);
      await page.getByRole("link", { name: texts.memory.tabs[tab], exact: true }).waitFor();
      if (tab === "core") await page.locator("[data-section=profile]").getByRole("button", { name: texts.memory.core.edit }).click();
      if (tab === "changes") await page.locator(".operation").first().waitFor();
      found[tab] = await findingsInBothThemes(page);
    }
    await page.goto(`${on.url}/#/service`);
    await page.locator(".plot .plot-bar").first().waitFor();
    found["service"] = await findingsInBothThemes(page);
    expect(found).toEqual(Object.fromEntries(Object.keys(found).map((view) => [view, []])));
  });

  test("the first question has no serious problem either", async () => {
    const tested = await on.open({ user: null });
    await tested.page.getByLabel(texts.who.label).waitFor();
    expect(await findingsOn(tested.page)).toEqual([]);
  });

  test("everything is done by keyboard: talk, look inside, go to memory and back, begin anew", async () => {
    const tested = await on.open({ user: null });
    const { page } = tested;
    const focused = (): Promise<string> => page.evaluate<string>("document.activeElement?.id || document.activeElement?.textContent || ''");
    await page.getByLabel(texts.who.label).waitFor();
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Shift+Tab");
    expect(await focused()).toBe(texts.skip);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.type("keyboard");
    await page.keyboard.press("Enter");
    await page.locator("#message").waitFor();
    await page.keyboard.press("Alt+1");
    await page.locator("#content").focus();
    await page.keyboard.press("/");
    expect(await focused()).toBe("message");
    await page.keyboard.type("first line");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("second line");
    await page.keyboard.press("Enter");
    await tested.settled();
    expect(await page.locator("article.from-user .as-written").innerText()).toBe("first line\nsecond line");
    expect(await focused()).toBe("message");
    await page.keyboard.press("Alt+i");
    await page.locator(".timeline").waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".inspector").waitFor({ state: "detached" });
    await page.keyboard.press("Alt+2");
    await page.locator("[data-section=profile]").waitFor();
    await page.keyboard.press("Alt+4");
    await page.getByRole("heading", { name: texts.agents.title, level: 1 }).waitFor();
    await page.keyboard.press("Alt+5");
    await page.getByText(texts.service.title).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("Alt+1");
    await page.keyboard.press("Alt+n");
    await page.getByText(texts.chat.empty).waitFor();
  });

  test("without a model the page says once that answers only quote", async () => {
    const tested = await on.open();
    const { page } = tested;
    await page.getByText(texts.chat.offline).waitFor();
    await tested.press(texts.modelTest.go);
    await page.getByText(texts.modelTest.offline).waitFor();
    expect(await findingsOn(page)).toEqual([]);
    await tested.say("Hello");
    await tested.settled();
    expect(await page.getByText("OPENAI_API_KEY").count()).toBe(1);
  });

  test("a screen reader hears that an answer is under way and then the answer, not every token", async () => {
    const tested = await on.open();
    const { page } = tested;
    await page.getByTestId("announcer").waitFor({ state: "attached" });
    await page.evaluate(
      "window.heard = []; new MutationObserver(() => window.heard.push(document.querySelector('[data-testid=announcer]').textContent)).observe(document.querySelector('[data-testid=announcer]'), { childList: true, characterData: true, subtree: true })",
    );
    await tested.say("Hello");
    await tested.settled();
    const heard = await page.evaluate<string[]>("window.heard");
    expect(heard[0]).toBe(texts.chat.isReading);
    expect(heard.at(-1)).toContain("offline model");
    expect(new Set(heard).size).toBe(2);
    expect(await page.locator("[aria-live], [role=status], [role=alert]").count()).toBe(1);
  });

  test("on a phone, conversations and the inside of an answer are drawers, and nothing is cut off", async () => {
    const tested = await on.open({ user: "ada", viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
    const { page } = tested;
    const isCut = (): Promise<boolean> => page.evaluate<boolean>("document.documentElement.scrollWidth > innerWidth");
    await page.getByRole("button", { name: texts.conversations.title }).tap();
    await page
      .getByRole("dialog")
      .getByRole("link", { name: /Lisbon/ })
      .tap();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await tested.answer.getByRole("button", { name: texts.chat.inspect }).tap();
    await page.getByRole("dialog").locator(".operation").first().waitFor();
    expect(await findingsOn(page)).toEqual([]);
    expect(await isCut()).toBe(false);
    await page.getByRole("dialog").getByRole("button", { name: texts.close }).tap();
    for (const at of ["/#/memory/core", "/#/memory/erase", "/#/service"]) {
      await page.goto(on.url + at);
      await page.locator("h1").waitFor();
      expect({ at, isCut: await isCut() }).toEqual({ at, isCut: false });
    }
  });

  test("speaks Chinese to a Chinese browser, and whatever is chosen after that", async () => {
    const tested = await on.open({ locale: "zh-CN", at: `/#/chat/${on.conversation}`, user: "ada" });
    const { page } = tested;
    await tested.press(zh.chat.inspect, tested.answer);
    await page.getByText(zh.inspector.timeline).waitFor();
    expect(await page.evaluate<string>("document.documentElement.lang")).toBe("zh-CN");
    await tested.press(zh.settings.open);
    await page.getByRole("dialog").getByRole("combobox", { name: zh.settings.language }).selectOption("en");
    await page.getByRole("dialog").getByRole("combobox", { name: texts.settings.theme }).selectOption("dark");
    await page.reload();
    await page.getByRole("button", { name: texts.conversations.fresh }).waitFor();
    expect(await page.evaluate<string>("document.documentElement.dataset.theme")).toBe("dark");
  });

  test("asks for the key when the service has keys, says when it is wrong, and keeps it for the tab only", async () => {
    const tested = await on.open({ url: on.guarded.url, refusals: [401] });
    const { page } = tested;
    const give = async (key: string): Promise<void> => {
      await page.getByRole("textbox", { name: texts.key.label }).fill(key);
      await tested.press(texts.key.go);
    };
    await page.getByText(texts.key.title).waitFor();
    expect(await findingsOn(page)).toEqual([]);
    await give("not-the-key");
    await page.getByText(texts.key.refused).waitFor();
    await give("a-long-secret");
    await page.getByText(texts.conversations.none).waitFor();
    await tested.say("Hello");
    await tested.settled();
    expect(await page.evaluate<string>("JSON.stringify(localStorage)")).not.toContain("a-long-secret");
    await page.reload();
    await page.getByRole("link", { name: /Hello/ }).waitFor();
    const other = await page.context().newPage();
    await other.goto(on.guarded.url);
    await other.getByText(texts.key.title).waitFor();
  });
});
