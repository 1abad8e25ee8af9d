import { expect, test } from "@jest/globals";
import { zhViews } from "../../web/texts/views/zh-views.ts";
import { listConversations } from "../support/clients/api-client.ts";
import { askingClient, callOf } from "../support/services/asking-agent.ts";
import { waitUntil } from "../support/wait-until.ts";
import { findingsOn } from "./findings.ts";
import { describePage, startModelService, texts, type TestedPage } from "./tested-page.ts";

const t = texts.agents;
const isCut = ({ page }: TestedPage): Promise<boolean> => page.evaluate<boolean>("document.documentElement.scrollWidth > innerWidth");

const startService = () => startModelService({ SECRETS_KEY: "a key of more than thirty-two characters" });

describePage("on the page of agents,", startService, (on) => {
  test("an agent is made with its wrong fields named at once, and is mended, tried, changed and taken back", async () => {
    const tested = await on.open({ at: "/#/agents", refusals: [400] });
    const { page } = tested;
    const field = (name: string) => page.locator(`[data-field="${name}"]`);
    await tested.press(t.fresh.agents);
    await field("name").getByRole("textbox").fill("Counter!");
    await field("name").locator(".problem").waitFor();
    await field("name").getByRole("textbox").fill("counter");
    await field("description").locator(".problem", { hasText: "is blank" }).waitFor();
    await field("description").getByRole("textbox").fill("Counts");
    await field("tools").getByRole("textbox").fill("calculate\nno spaces");
    const wrong = field("tools").locator(".problem", { hasText: "tools.1" });
    await wrong.waitFor();
    expect(await field("description").locator(".problem").count()).toBe(0);
    expect(await field("tools").getByRole("textbox").getAttribute("aria-describedby")).toBe(await wrong.getAttribute("id"));
    expect(await findingsOn(page)).toEqual([]);
    await field("tools").getByRole("textbox").fill("calculate");
    await page.getByText(t.fits).waitFor();
    await tested.press(t.save);
    const row = page.locator("[data-name=counter]");
    await row.getByText(t.versionIs(1)).first().waitFor();

    askingClient(on).follow([callOf("calculate", { expression: "6*7" })], "It is 42.");
    await tested.press(t.try, row);
    const panel = page.getByRole("dialog");
    await panel.getByLabel(t.tryPlaceholder).fill("Please count");
    await tested.press(texts.chat.send, panel);
    await panel.getByText("It is 42.").waitFor();
    await panel.locator("details[data-tool=calculate]").waitFor();
    expect(await listConversations(on.url, on.user)).toHaveLength(1);
    await tested.press(texts.close, panel);
    await waitUntil("the try is deleted", async () => (await listConversations(on.url, on.user)).length === 0);

    await field("description").getByRole("textbox").fill("Counts well");
    await tested.press(t.save, row);
    await row.locator("summary", { hasText: t.versions }).click();
    await row.locator("[data-version='2']").waitFor();
    await tested.press(t.take, row.locator("[data-version='1']"));
    expect(await field("description").getByRole("textbox").inputValue()).toBe("Counts");
    await tested.press(t.remove, row);
    await tested.press(t.remove, page.getByRole("dialog"));
    await row.waitFor({ state: "detached" });
  });

  test("a skill and an MCP server are made and checked in the same way, and a kept header is never shown again", async () => {
    const tested = await on.open({ at: "/#/agents/skills", refusals: [400] });
    const { page } = tested;
    const box = (name: string) => page.locator(`[data-field="${name}"]`).getByRole("textbox");
    const problem = (name: string) => page.locator(`[data-field="${name}"] .problem`);
    await tested.press(t.fresh.skills);
    await box("name").fill("tides");
    await problem("files.SKILL.md").waitFor();
    await box("files.SKILL.md").fill("---\nname: tides\ndescription: When the tide is high\n---\n\nLook at the moon.");
    await page.getByText(t.fits).waitFor();
    await tested.press(t.save);
    await page.locator("[data-name=tides]", { hasText: "When the tide is high" }).waitFor();

    await page.getByRole("link", { name: t.tabs.servers }).click();
    await tested.press(t.fresh.servers);
    await box("name").fill("docs");
    await box("url").fill("http://127.0.0.1/mcp");
    await problem("url").waitFor();
    await box("url").fill("https://docs.example.org/mcp");
    await box("headers").fill("X-Key: sesame: open");
    await page.getByText(t.fits).waitFor();
    await tested.press(t.save);
    const row = page.locator("[data-name=docs]");
    await row.getByText(t.kept("X-Key")).waitFor();
    expect(await row.innerText()).not.toContain("sesame");
    expect(await findingsOn(page)).toEqual([]);
  });

  test.each([
    ["on a phone", { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, locale: "zh-CN" }],
    ["at 200 %", { viewport: { width: 680, height: 425 }, deviceScaleFactor: 2, locale: "zh-CN", colorScheme: "dark" as const }],
  ])("a Chinese form %s has nothing cut off", async (_how, options) => {
    await askingClient(on).makeAgent("counter", {});
    const tested = await on.open({ at: "/#/agents", ...options });
    const { page } = tested;
    await page.locator("[data-name=counter]").getByRole("button", { name: zhViews.agents.edit }).click();
    await page.getByText(zhViews.agents.fits).waitFor();
    for (const title of [zhViews.agents.limits, zhViews.agents.memory]) await page.locator("summary", { hasText: title }).click();
    expect(await isCut(tested)).toBe(false);
    expect(await findingsOn(page)).toEqual([]);
  });
});
