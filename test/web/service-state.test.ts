import { expect, test } from "@jest/globals";
import { callApi, postJson } from "../support/clients/api-client.ts";
import { openTestPostgres } from "../support/databases/databases.ts";
import { openServiceWithSummaries } from "../support/services/service-with-summaries.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startModelServer } from "../servers/model-server.ts";
import { findingsOn } from "./findings.ts";
import { describePage, texts, type TestedPage } from "./tested-page.ts";

async function startService() {
  const database = await openTestPostgres();
  const running = await openServiceWithSummaries({ DATABASE_URL: database.url, RATE_LIMIT_PER_MINUTE: "10000" });
  return { ...running, database, close: () => running.close().then(() => database.close()) };
}

describePage("the page of the service", startService, (on) => {
  const t = texts.memory.jobs;
  const rowOf = ({ page }: TestedPage, name: string) => page.locator(".states li", { has: page.getByText(name, { exact: true }) });
  const summarise = texts.jobs.kinds["summarise"] ?? "";

  test("shows layers, latencies, and a job that fails with its error, both in the queue and at its conversation", async () => {
    on.summarise({ status: 500 });
    for (const message of ["one", "two", "three"]) await on.say(on.user, message);
    const usage = () => callApi<{ usage: unknown[] }>(`${on.url}/api/v1/usage?by=model`);
    await waitUntil("the calls are counted", async () => (await usage()).json.usage.length > 0);
    const status = () => callApi<{ jobs: { state: string }[] }>(`${on.url}/api/v1/status`);
    await waitUntil("the job has failed", async () => (await status()).json.jobs.some(({ state }) => state === "retrying"));
    const tested = await on.open({ at: "/#/service" });
    const { page } = tested;
    await page.locator(".plot .plot-bar").first().waitFor();
    expect(await rowOf(tested, texts.layers.summary).innerText()).toContain(texts.service.on);
    expect(await rowOf(tested, texts.layers.episodic).innerText()).toContain(texts.service.off);
    expect(await page.locator(".figure strong").first().innerText()).toMatch(/^[\d.,]+ m?s$/);
    await page.locator("table.data").getByText(summarise).waitFor();
    const spending = page.getByRole("region", { name: texts.service.spending });
    expect(await spending.locator("tbody tr td").first().innerText()).toMatch(/^[1-9]/);
    await page.getByLabel(texts.service.spendingBy).selectOption("model");
    await spending.getByRole("row", { name: "test-chat" }).waitFor();
    await page.goto(`${on.url}/#/memory/jobs`);
    const job = page.locator(".card", { hasText: summarise });
    await job.waitFor();
    expect(await job.locator(".note.error code").innerText()).toMatch(/^model_/);
  });

  test("shows the limits with what is used, the version, and the settings in force, with the changed ones first", async () => {
    const tested = await on.open({ at: "/#/service" });
    const { page } = tested;
    const used = page.locator("[data-limit=RATE_LIMIT_PER_MINUTE] td");
    expect(Number(await used.first().innerText())).toBeGreaterThan(0);
    await page.getByText(texts.service.settings).click();
    await page.locator("[data-version]", { hasText: /conversation-graph \d/ }).waitFor();
    const setting = (name: string) => page.locator(`[data-setting=${name}]`);
    expect(await setting("OPENAI_BASE_URL").innerText()).toContain(on.model.url);
    expect(await setting("DATABASE_URL").innerText()).toContain(texts.service.secretSet);
    expect(await setting("MAX_PICTURES").count()).toBe(0);
    await page.getByLabel(texts.service.allSettings).check();
    expect(await setting("MAX_PICTURES").innerText()).toContain("10");
    expect(await findingsOn(page)).toEqual([]);
    const [saved] = await Promise.all([page.waitForEvent("download"), tested.press(texts.service.exportGo(on.user))]);
    expect(saved.suggestedFilename()).toBe(`${on.user}.jsonl`);
  });

  test("shows why a job failed for good, and runs the job again when told to", async () => {
    on.summarise({ status: 401 });
    await on.say(on.user, "one");
    const { conversation_id: id } = await on.say(on.user, "two");
    await waitUntil("the job is dead", async () => {
      await on.database.query({ text: "update pgboss.job set retry_limit = 0 where name = 'memory' and state < 'completed'" });
      const { json } = await callApi<{ jobs: { state: string }[] }>(`${on.url}/api/v1/conversations/${id}/jobs`);
      return json.jobs.some(({ state }) => state === "dead");
    });
    const tested = await on.open({ at: "/#/service" });
    const { page } = tested;
    const dead = page.locator("[data-job=summarise]", { hasText: on.user });
    await dead.getByText(texts.errors["model_unauthorized"] ?? "").waitFor();
    await dead.getByRole("button", { name: texts.service.retryKind(summarise) }).waitFor();
    expect(await findingsOn(page)).toEqual([]);
    await page.goto(`${on.url}/#/memory/jobs`);
    const job = page.locator(".card", { hasText: summarise });
    await job.getByText(texts.jobs.states["dead"] ?? "", { exact: true }).waitFor();
    await job.getByText(texts.errors["model_unauthorized"] ?? "").waitFor();
    on.summarise({ tokens: ["at last"] });
    await tested.press(t.retry);
    await page.getByText(t.retried(1)).waitFor();
    await on.settle(id);
    await tested.press(texts.refresh);
    await page.getByText(t.none).waitFor();
    expect(await on.summaryOf(id)).toMatchObject({ text: "at last" });
  });

  test("shows after a try of the model what it can do and what its server has taught, in words", async () => {
    on.model.answer((body) => {
      if (body.max_tokens !== undefined) return { status: 400, error: { message: "Unsupported parameter: 'max_tokens'." } };
      if (body.tools) return { toolCalls: [{ name: "calculate", arguments: { expression: "1234 * 5678" } }] };
      return { tokens: ["yes"] };
    });
    const tested = await on.open({ at: "/#/service" });
    const { page } = tested;
    await tested.press(texts.modelTest.go);
    await page.locator(".note.success", { hasText: "test-chat" }).waitFor();
    const results = page.getByRole("region", { name: texts.modelTest.results });
    const outcome = (what: string) => results.locator(`[data-attempt=${what}] .badge`).innerText();
    expect(await outcome("text")).toBe(texts.modelTest.can);
    expect(await outcome("thought")).toBe(texts.modelTest.unknown);
    expect(await outcome("call")).toBe(texts.modelTest.can);
    expect(await outcome("form")).toBe(texts.modelTest.cannot);
    expect(await outcome("picture")).toBe(texts.modelTest.cannot);
    expect(await results.locator("[data-attempt]").count()).toBe(6);
    const lesson = page.locator("[data-lesson=max_completion_tokens]");
    expect(await lesson.innerText()).toContain(texts.modelTest.learned["max_completion_tokens"]);
    expect(await lesson.innerText()).toContain("Unsupported parameter");
    expect(await findingsOn(page)).toEqual([]);
  });

  test("shows what is down and how many turns failed while the page stays open", async () => {
    const tested = await on.open({ at: "/#/service" });
    await rowOf(tested, texts.service.names["chat_model"] ?? "")
      .getByText(texts.service.up, { exact: true })
      .waitFor();
    await on.model.close();
    await postJson(`${on.url}/api/v1/chat`, { user_id: on.user, session_id: "s", message: "four" });
    await rowOf(tested, texts.service.names["chat_model"] ?? "")
      .getByText(texts.service.down, { exact: true })
      .waitFor();
    await tested.page.getByText(texts.service.failedTurns(1, 6)).waitFor();
    await tested.press(texts.modelTest.go);
    const failed = tested.page.locator(".note.error", { hasText: texts.modelTest.failed("test-chat") });
    await failed.getByText("OPENAI_BASE_URL", { exact: true }).waitFor();
    const back = await startModelServer({ port: Number(new URL(on.model.url).port) });
    await tested.press(texts.modelTest.go);
    await tested.page.locator(".note.success", { hasText: "test-chat" }).waitFor();
    await back.close();
  });
});
