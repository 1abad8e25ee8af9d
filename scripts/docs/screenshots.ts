import { mkdir } from "node:fs/promises";
import type { Browser, Page } from "playwright-core";
import { openBrowser, whyNoBrowser } from "../../test/servers/browser.ts";
import { startModelServer } from "../../test/servers/model-server.ts";
import { takeSheets } from "./contact-sheets.ts";
import { answer, openService, type Talked, talkBefore, USER, withModel } from "./pictured-service.ts";

// Writes docs/screenshots: a real service with a scripted model.

const TO = "docs/screenshots";
async function open(browser: Browser, url: string, options: Parameters<Browser["newPage"]>[0]): Promise<Page> {
  const page = await browser.newPage({ locale: "en-GB", viewport: { width: 1440, height: 900 }, ...options });
  await page.addInitScript(`localStorage.setItem("conversation-graph.user", ${JSON.stringify(USER)})`);
  await page.goto(url);
  return page;
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.waitForTimeout(700);
  await page.screenshot({ path: `${TO}/${name}.png` });
}

async function takeAll(browser: Browser, url: string, { conversation, asking }: Talked): Promise<void> {
  const light = await open(browser, `${url}/#/chat/${conversation}`, { colorScheme: "light" });
  await light.locator("article").last().waitFor();
  await light.locator("#message").fill("Where should I eat on Saturday, and can I take the bicycle on the train?");
  await light.locator("#message").press("Enter");
  await light.locator("article.from-assistant[aria-busy=false] table").waitFor();
  await light.waitForTimeout(3_000);
  await light.keyboard.press("Alt+i");
  await light.locator(".timeline").waitFor();
  await shoot(light, "chat-light");
  await light.keyboard.press("Escape");
  await light.locator("button.cite").first().click();
  await light.locator(".cited blockquote").waitFor();
  await shoot(light, "citation-light");
  await light.goto(`${url}/#/memory/core`);
  await light.locator("[data-section=profile]").waitFor();
  await light.getByRole("button", { name: "History: Profile" }).click();
  await shoot(light, "memory-light");
  await light.goto(`${url}/#/documents/trains`);
  await light.locator("[data-document]").first().waitFor();
  await light.getByLabel("A question, as in chat").fill("May I take a bicycle?");
  await light.keyboard.press("Enter");
  await light.locator("[data-passage]").first().waitFor();
  await shoot(light, "documents-light");
  await light.close();

  const dark = await open(browser, `${url}/#/chat/${conversation}`, { colorScheme: "dark" });
  await dark.locator("article table").waitFor();
  await dark.locator("article.from-assistant").nth(1).getByRole("button", { name: "Details" }).click();
  await dark.locator(".inspector .card").first().waitFor();
  await shoot(dark, "chat-dark");
  await dark.getByRole("button", { name: "Answer again" }).last().click();
  await dark.locator("article.from-assistant[aria-busy=false] .versions").waitFor();
  await dark.getByRole("button", { name: "Branches" }).click();
  await dark.getByLabel("Snapshot name").fill("Before the trip");
  await dark.keyboard.press("Enter");
  await dark.locator(".snapshots li").waitFor();
  await shoot(dark, "branches-dark");
  await dark.goto(`${url}/#/service`);
  await dark.locator(".plot .plot-bar").first().waitFor();
  await shoot(dark, "service-dark");
  await dark.close();

  const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };
  const small = await open(browser, `${url}/#/chat/${conversation}`, phone);
  await small.locator("article table").waitFor();
  await shoot(small, "chat-phone");
  await small.getByRole("button", { name: "Details" }).last().tap();
  await small.locator(".timeline").waitFor();
  await shoot(small, "inspector-phone");
  await small.keyboard.press("Escape");
  await small.goto(`${url}/#/chat/${asking}`);
  await small.locator(".question-card").waitFor();
  await shoot(small, "question-phone");
  await small.close();
}

const missing = await whyNoBrowser();
if (missing) throw new Error(`no pictures without a browser: ${missing}. Install chromium or set CHROMIUM_PATH.`);
await mkdir(`${TO}/sheets`, { recursive: true });
const model = await startModelServer({ keepSeen: false });
model.answer(answer);
const services = await Promise.all([withModel(model.url), {}, { API_KEYS: "a-long-secret:acme" }].map(openService));
const [url = "", emptyUrl = "", guardedUrl = ""] = services.map((service) => service.url);
const browser = await openBrowser();
try {
  const talked = await talkBefore(url);
  await takeAll(browser, url, talked);
  await takeSheets(browser, { url, emptyUrl, guardedUrl, talked }, TO);
} finally {
  await browser.close();
  for (const service of services) service.close();
  await model.close();
}
