import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { listConversations, listMessages } from "../support/clients/api-client.ts";
import { openBrowser, whyNoBrowser } from "../servers/browser.ts";
import { createRealDatabase } from "../support/databases/databases.ts";
import { startModelServer, type ModelServer } from "../servers/model-server.ts";
import { freePort } from "../servers/postgres-server.ts";
import { killServiceProcesses, startServiceProcess } from "../servers/service-process.ts";
import { closeWithoutProblems, openTestedPage, texts, type TestedPage } from "./tested-page.ts";

const missing = await whyNoBrowser();
if (missing) test.skip(`an answer that broke off with its process (skipped: ${missing})`, () => undefined);

(missing ? describe.skip : describe)("an answer that broke off with its process", () => {
  let browser: Browser;
  let model: ModelServer;
  let database: Awaited<ReturnType<typeof createRealDatabase>>;
  let tested: TestedPage;

  beforeAll(async () => {
    [model, database, browser] = await Promise.all([startModelServer(), createRealDatabase(), openBrowser()]);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await killServiceProcesses();
    await model?.close();
    await database?.drop();
  });
  afterEach(() => closeWithoutProblems(tested));

  test("is told as such once the service is there again, and a retry leaves one question with one answer", async () => {
    const environment = {
      PORT: String(await freePort()),
      DATABASE_URL: database.url,
      OPENAI_BASE_URL: model.url,
      CHAT_MODEL: "test-chat",
      ENABLE_SUMMARY: "false",
      TURN_LEASE_MS: "1000",
    };
    const first = await startServiceProcess(environment);
    model.answer({ tokens: Array.from({ length: 3_000 }, (_, index) => `w${index} `), betweenMs: 50 });
    tested = await openTestedPage(browser, first.url, { user: "ada", losesConnection: true });
    await tested.say("Will you hold?");
    await tested.answer.getByText("w5").waitFor();
    first.kill("SIGKILL");
    await tested.answer.getByText(texts.chat.reconnecting).waitFor();
    model.answer({ tokens: ["I ", "do."] });
    await startServiceProcess(environment);
    const note = tested.answer.locator(".note.error");
    await note.getByText(texts.errors["turn_interrupted"] ?? "").waitFor();
    expect(await tested.answer.locator(".markdown").innerText()).toContain("w5");
    await note.getByRole("button", { name: texts.retry }).click();
    await tested.answer.getByText("I do.").waitFor();
    await tested.settled();
    const [conversation, ...others] = await listConversations(first.url, "ada");
    expect(others).toEqual([]);
    const messages = await listMessages(first.url, conversation?.id ?? "");
    expect(messages.map(({ role, content, completed }) => [role, content, completed])).toEqual([
      ["user", "Will you hold?", true],
      ["assistant", "I do.", true],
    ]);
    await tested.page.reload();
    await tested.page.getByRole("link", { name: /Will you hold/ }).click();
    await tested.answer.getByText("I do.").waitFor();
    expect(await tested.page.locator("article").count()).toBe(2);
  }, 90_000);
});
