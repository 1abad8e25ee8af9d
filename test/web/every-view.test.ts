import { expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { putJson } from "../support/clients/api-client.ts";
import { makeKnowledgeClient } from "../support/clients/knowledge-client.ts";
import { findingsInBothThemes } from "./findings.ts";
import { describePage, sayAndSettle, startOfflineService, texts } from "./tested-page.ts";

const DESK = { width: 1360, height: 850 };
/** A phone, and the desk at 200 %. */
const NARROW = [
  { width: 360, height: 740 },
  { width: 680, height: 425 },
];
const MOST_TABS = 150;
const FOCUSED = `(() => {
  const element = document.activeElement;
  return (element?.getAttribute("aria-label") ?? element?.labels?.[0]?.textContent ?? element?.textContent ?? "").trim();
})()`;
/** Once the page has taken to its size. */
const IS_CUT = `new Promise((tell) => requestAnimationFrame(() => requestAnimationFrame(() =>
  tell([...document.querySelectorAll("html, main, .page-view")].some((element) => element.scrollWidth > element.clientWidth)))))`;

async function startService() {
  const service = await startOfflineService();
  const knowledge = makeKnowledgeClient(service.url);
  await knowledge.put("trains", { description: "Trains", keywords: ["bicycle"] });
  await knowledge.add("trains", { title: "Bicycles", text: "Bicycles travel free on regional trains." });
  await knowledge.settled("trains");
  await putJson(`${service.url}/api/v1/agents/poet`, { description: "Writes poems" });
  let conversation = "";
  for (const message of ["I live in Lisbon.", "How does a bicycle travel?"]) conversation = await sayAndSettle(service.url, "ada", message);
  return { ...service, conversation };
}

/** Presses Tab until something of this name has the focus, then Enter or another key. */
async function go(page: Page, name: string | RegExp, key = "Enter"): Promise<void> {
  for (let pressed = 0; pressed < MOST_TABS; pressed++) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate<string>(FOCUSED);
    if (typeof name === "string" ? focused === name : name.test(focused)) return page.keyboard.press(key);
  }
  throw new Error(`Tab leads to nothing named ${String(name)}`);
}

describePage("every view", startService, (on) => {
  test("is reached by keyboard alone; light and dark it has nothing that stops assistive technology, and is not cut off on a phone or at 200 %", async () => {
    const { page, answer } = await on.open({ user: "ada", at: `/#/chat/${on.conversation}`, viewport: DESK });
    const found: Record<string, string[]> = {};
    async function look(view: string): Promise<void> {
      found[view] = await findingsInBothThemes(page);
      for (const size of NARROW) {
        await page.setViewportSize(size);
        if (await page.evaluate<boolean>(IS_CUT)) found[view].push(`it is cut off at ${size.width} pixels`);
        found[view].push(...(await findingsInBothThemes(page)));
      }
      await page.setViewportSize(DESK);
    }
    await answer.waitFor();
    await go(page, texts.branches.edit);
    await page.getByRole("textbox", { name: texts.branches.edit }).first().waitFor();
    await look("edit");
    await page.keyboard.press("Escape");

    await page.keyboard.press("Alt+i");
    const compare = page.getByRole("combobox", { name: texts.inspector.compareWith });
    await compare.waitFor();
    await go(page, texts.inspector.compareWith, "ArrowDown");
    await page.locator("table.compared").waitFor();
    await look("compare");
    await page.locator("#content").focus();
    await page.keyboard.press("Escape");

    await go(page, texts.branches.title);
    await page.getByRole("textbox", { name: texts.branches.label }).waitFor();
    await look("branches and snapshots");
    await page.locator("#content").focus();
    await page.keyboard.press("Escape");

    await go(page, texts.chat.options);
    await go(page, texts.chat.stepping, "Space");
    expect(await page.getByLabel(texts.chat.stepping).isChecked()).toBe(true);
    await look("options");

    await page.locator("#content").focus();
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await look("settings");
    await page.keyboard.press("Escape");

    await go(page, texts.views.memory);
    await go(page, texts.memory.tabs.permissions);
    await page.getByText(texts.memory.permissions.none).waitFor();
    await look("permissions");
    await go(page, texts.memory.tabs.jobs);
    await page.getByRole("combobox", { name: texts.memory.jobs.choose }).waitFor();
    await look("jobs");

    await go(page, texts.views.documents);
    await go(page, /^trains/);
    await go(page, texts.documents.passages(1));
    await page.locator("[data-passage]").first().waitFor();
    await go(page, texts.documents.question, "b");
    await page.keyboard.type("icycle");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: texts.documents.search }).locator("[data-passage]").first().waitFor();
    await look("documents");

    await go(page, texts.views.agents);
    await go(page, texts.agents.edit);
    await page.getByText(texts.agents.fits).waitFor();
    await look("agents");
    await go(page, texts.agents.try);
    await page.getByRole("dialog").waitFor();
    await look("trying an agent");
    await page.keyboard.press("Escape");
    for (const tab of ["skills", "servers"] as const) {
      await go(page, texts.agents.tabs[tab]);
      await go(page, texts.agents.fresh[tab]);
      await page.getByLabel(texts.agents.fields["name"] ?? "", { exact: true }).waitFor();
      await look(tab);
    }

    await go(page, texts.views.service);
    await page.locator(".plot .plot-bar").first().waitFor();
    await go(page, texts.modelTest.go);
    await page.getByText(texts.modelTest.offline).waitFor();
    await look("service, with the model tried");
    expect(found).toEqual(Object.fromEntries(Object.keys(found).map((view) => [view, []])));
  });
});
