import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { postJson } from "../support/api-client.ts";
import { openBrowser, whyNoBrowser } from "../support/browser.ts";
import { startModelServer, type ModelServer } from "../support/model-server.ts";
import { killServiceProcesses, startServiceProcess } from "../support/service-process.ts";
import { closeWithoutProblems, openTestedPage, texts, type TestedPage } from "../support/tested-page.ts";

const missing = await whyNoBrowser();
if (missing) test.skip(`the state of the service on the page (skipped: ${missing})`, () => undefined);

(missing ? describe.skip : describe)("the state of the service on the page", () => {
  let browser: Browser;
  let model: ModelServer;
  let url: string;
  let tested: TestedPage;

  beforeAll(async () => {
    model = await startModelServer();
    model.answer((body) => (body.model === "test-summary" ? { status: 500 } : { tokens: ["answer"] }));
    ({ url } = await startServiceProcess({
      DATA_DIR: "memory://",
      OPENAI_BASE_URL: model.url,
      CHAT_MODEL: "test-chat",
      SUMMARY_MODEL: "test-summary",
      ENABLE_EPISODIC_MEMORY: "false",
      ENABLE_CORE_MEMORY: "false",
      HISTORY_WINDOW: "2",
      SUMMARY_MIN_MESSAGES: "4",
      SUMMARY_UPDATE_DELTA: "2",
      RATE_LIMIT_PER_MINUTE: "0",
    }));
    browser = await openBrowser();
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await killServiceProcesses();
    await model?.close();
  });
  afterEach(() => closeWithoutProblems(tested));

  const rowOf = (name: string) => tested.page.locator(".states li", { hasText: name });

  test("shows layers, latencies, and a job that fails with its error, in the queue and at its conversation", async () => {
    for (const message of ["one", "two", "three"]) {
      await postJson(`${url}/api/v1/chat`, { user_id: "ada", session_id: "s", message });
    }
    tested = await openTestedPage(browser, url, { at: "/#/service" });
    const { page } = tested;
    await page.locator(".plot canvas").waitFor();
    expect(await rowOf(texts.layers.summary).innerText()).toContain(texts.service.on);
    expect(await rowOf(texts.layers.episodic).innerText()).toContain(texts.service.off);
    expect(await page.locator(".figure strong").first().innerText()).toMatch(/^[\d.,]+ m?s$/);
    await page
      .locator("table.data")
      .getByText(texts.jobs.kinds["summarise"] ?? "")
      .waitFor();
    await page.goto(`${url}/#/memory/jobs`);
    const job = page.locator(".card", { hasText: texts.jobs.kinds["summarise"] ?? "" });
    await job.waitFor();
    expect(await job.locator(".note.error code").innerText()).toMatch(/^model_/);
  });

  test("shows what is down, and how many turns failed, while the page stays open", async () => {
    tested = await openTestedPage(browser, url, { at: "/#/service" });
    await rowOf("chat_model").getByText(texts.service.up, { exact: true }).waitFor();
    await model.close();
    await postJson(`${url}/api/v1/chat`, { user_id: "ada", session_id: "s", message: "four" });
    await rowOf("chat_model").getByText(texts.service.down, { exact: true }).waitFor();
    await tested.page.getByText(texts.service.failedTurns(1, 4)).waitFor();
  });
});
