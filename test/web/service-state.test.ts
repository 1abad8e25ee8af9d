import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { postJson } from "../support/clients/api-client.ts";
import { whyNoBrowser } from "../servers/browser.ts";
import type { ModelServer } from "../servers/model-server.ts";
import { openPageWorld, type PageWorld } from "./page-world.ts";
import { closeWithoutProblems, openTestedPage, texts, type TestedPage } from "./tested-page.ts";

const missing = await whyNoBrowser();
if (missing) test.skip(`the state of the service on the page (skipped: ${missing})`, () => undefined);

(missing ? describe.skip : describe)("the state of the service on the page", () => {
  let world: PageWorld;
  let browser: Browser;
  let model: ModelServer;
  let url: string;
  let tested: TestedPage;

  beforeAll(async () => {
    world = await openPageWorld({
      ENABLE_SUMMARY: "true",
      SUMMARY_MODEL: "test-summary",
      HISTORY_WINDOW: "2",
      SUMMARY_MIN_MESSAGES: "4",
      SUMMARY_UPDATE_DELTA: "2",
    });
    ({ browser, model, url } = world);
    model.answer((body) => (body.model === "test-summary" ? { status: 500 } : { tokens: ["answer"] }));
  }, 120_000);
  afterAll(() => world?.close());
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
