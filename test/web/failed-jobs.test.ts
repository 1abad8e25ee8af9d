import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import type { Database } from "../../stores/postgres/database/database.ts";
import { openPostgres } from "../../stores/postgres/database/open-postgres.ts";
import { callApi } from "../support/clients/api-client.ts";
import { openBrowser, whyNoBrowser } from "../servers/browser.ts";
import { createRealDatabase } from "../support/databases/databases.ts";
import { openServiceWithSummaries, type ServiceWithSummaries } from "../support/services/service-with-summaries.ts";
import { closeWithoutProblems, openTestedPage, texts, type TestedPage } from "./tested-page.ts";
import { waitUntil } from "../support/wait-until.ts";

const missing = await whyNoBrowser();
if (missing) test.skip(`jobs that failed for good on the page (skipped: ${missing})`, () => undefined);

(missing ? describe.skip : describe)("jobs that failed for good on the page", () => {
  const t = texts.memory.jobs;
  let browser: Browser;
  let real: Awaited<ReturnType<typeof createRealDatabase>>;
  let database: Database;
  let running: ServiceWithSummaries;
  let tested: TestedPage;

  beforeAll(async () => {
    [real, browser] = await Promise.all([createRealDatabase(), openBrowser()]);
    database = await openPostgres(real.url);
    running = await openServiceWithSummaries({ DATABASE_URL: real.url });
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await running?.close();
    await database?.close();
    await real?.drop();
  });
  afterEach(() => closeWithoutProblems(tested));

  test("say why they failed, and run again when they are told to", async () => {
    running.summarise({ status: 401 });
    await running.say("bob", "one");
    const { conversation_id: id } = await running.say("bob", "two");
    await waitUntil("it is dead", async () => {
      await database.query({ text: "update pgboss.job set retry_limit = 0 where name = 'memory' and state < 'completed'" });
      const { json } = await callApi<{ jobs: { state: string }[] }>(`${running.url}/api/v1/conversations/${id}/jobs`);
      return json.jobs.some(({ state }) => state === "dead");
    });
    tested = await openTestedPage(browser, running.url, { user: "bob", at: "/#/memory/jobs" });
    const { page } = tested;
    const job = page.locator(".card", { hasText: texts.jobs.kinds["summarise"] ?? "" });
    await job.getByText(texts.jobs.states["dead"] ?? "", { exact: true }).waitFor();
    await job.getByText(texts.errors["model_refused"] ?? "").waitFor();
    running.summarise({ tokens: ["at last"] });
    await page.getByRole("button", { name: t.retry }).click();
    await page.getByText(t.retried(1)).waitFor();
    await running.settle(id);
    await page.getByRole("button", { name: texts.refresh }).click();
    await page.getByText(t.none).waitFor();
    expect(await running.summaryOf(id)).toMatchObject({ text: "at last" });
  });
});
