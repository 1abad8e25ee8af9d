import { beforeEach, expect, test } from "@jest/globals";
import type { Locator } from "playwright-core";
import { QUESTION_CHANNEL } from "../../stores/postgres/turns/question-rows.ts";
import { openPostgres } from "../../stores/postgres/database/open-postgres.ts";
import { zh } from "../../web/texts/zh.ts";
import { startModelServer } from "../servers/model-server.ts";
import { freePort } from "../servers/free-port.ts";
import { killServiceProcesses, type ServiceProcess, startServiceProcess } from "../servers/service-process.ts";
import { createRealDatabase } from "../support/databases/databases.ts";
import { askingClient, callOf } from "../support/services/asking-agent.ts";
import { findingsOn } from "./findings.ts";
import { describePage, texts } from "./tested-page.ts";

const t = texts.questions;
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

async function startService() {
  const [model, database] = await Promise.all([startModelServer(), createRealDatabase()]);
  const pool = await openPostgres(database.url);
  const environment = {
    PORT: String(await freePort()),
    DATABASE_URL: database.url,
    OPENAI_BASE_URL: model.url,
    CHAT_MODEL: "test-chat",
    ENABLE_SUMMARY: "false",
  };
  const start = (): Promise<ServiceProcess> => startServiceProcess(environment);
  const close = () => Promise.all([killServiceProcesses(), model.close(), pool.close()]).then(() => database.drop());
  return { ...(await start()), start, model, pool, close };
}

/** The card of the question that is open. */
const cardOf = (answer: Locator): Locator => answer.locator(".question-card");
const optionOf = (card: Locator, label: string): Locator => card.locator(`[data-option="${label}"]`);

describePage("on the page with questions,", startService, (on) => {
  let client: ReturnType<typeof askingClient>;
  beforeEach(async () => {
    client = askingClient(on);
    await client.makeAgent("counter", { keywords: ["count"], permissions: [{ tool: "calculate", action: "ask" }] });
  });
  const multiply = callOf("calculate", { expression: "6*7" });

  test("a call that needs permission is a card that shows what will run, is answered by keyboard, and the answer goes on", async () => {
    client.follow([multiply], "It is 42.");
    const tested = await on.open();
    const { page, answer } = tested;
    await tested.say("Please count");
    const card = cardOf(answer);
    await card.getByText(t.permission("counter", "calculate")).waitFor();
    expect(await card.locator(".call-arguments").innerText()).toMatch(/expression\s+6\*7/);
    expect(await card.getByRole("timer").innerText()).toMatch(/^[45]:\d\d left$/);
    const asks = t.asks(t.permission("counter", "calculate"));
    await page.getByTestId("announcer").filter({ hasText: asks }).waitFor({ state: "attached" });
    expect(await page.locator("[role=timer]:not([aria-live=off])").count()).toBe(0);
    expect(await answer.locator("details[data-tool=calculate]").innerText()).toContain(texts.acts.held);
    expect(await findingsOn(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await optionOf(card, "allow_once").focus();
    await page.keyboard.press("Enter");
    await answer.getByText("It is 42.").waitFor();
    await tested.settled();
    expect(await answer.locator("[data-closed=person]").innerText()).toContain(t.answered(t.options["allow_once"] ?? ""));
    expect(await card.count()).toBe(0);
    await answer.locator("details[data-tool=calculate] summary").click();
    expect(await answer.locator("details[data-tool=calculate] pre").last().innerText()).toContain("42");
  });

  test("a call that is denied with a remark is not run, and the model reads the remark", async () => {
    client.follow([multiply], "Then not.");
    const tested = await on.open();
    await tested.say("Please count");
    const card = cardOf(tested.answer);
    await card.getByLabel(t.remark).fill("I count myself.");
    await optionOf(card, "deny").click();
    await tested.answer.getByText("Then not.").waitFor();
    expect(JSON.stringify(on.model.seen.at(-1)?.body.messages.at(-1))).toContain("I count myself.");
  });

  test("a question that is asked in one tab and answered in another lets the first tab go on by itself", async () => {
    client.follow([multiply], "It is 42.");
    const first = await on.open();
    await first.say("Please count");
    await cardOf(first.answer).waitFor();
    const second = await on.open();
    await second.page.getByRole("button", { name: t.bell(1) }).click();
    expect(await second.page.title()).toMatch(/^\(1\)/);
    expect(await findingsOn(second.page)).toEqual([]);
    await second.press(texts.close, second.page.getByRole("dialog"));
    await second.follow(/Please count/);
    await optionOf(cardOf(second.answer), "allow_once").click();
    await Promise.all([first, second].map(({ answer }) => answer.getByText("It is 42.").waitFor()));
    await first.answer.locator("[data-closed=person]").waitFor();
    await second.page.getByRole("button", { name: t.bell(0) }).waitFor();
  });

  test("a question that nobody answers in time is closed, and says what counted", async () => {
    client.follow([multiply], "Then not.");
    const tested = await on.open({ locale: "zh-CN" });
    await tested.say("Please count");
    await cardOf(tested.answer).getByText(zh.questions.permission("counter", "calculate")).waitFor();
    await on.pool.query({
      text: `with due as (update questions set expires_at = clock_timestamp() where answered_at is null) select pg_notify('${QUESTION_CHANNEL}', '0')`,
    });
    await tested.answer.getByText("Then not.").waitFor();
    const closed = tested.answer.locator("[data-closed=timeout]");
    expect(await closed.innerText()).toContain(zh.questions.counted(zh.questions.options["deny"] ?? ""));
  });

  test("a turn that waits is stopped, and the conversation is free again", async () => {
    client.follow([multiply], "Never.");
    const tested = await on.open();
    await tested.say("Please count");
    await cardOf(tested.answer).waitFor();
    await tested.press(texts.chat.stop);
    await tested.answer.getByText(texts.chat.stopped).waitFor();
    expect(await cardOf(tested.answer).count()).toBe(0);
    client.follow("Here.");
    await tested.say("Are you there?");
    await tested.answer.getByText("Here.").waitFor();
  });

  test("a permission for good is listed and revoked, and the agent asks again", async () => {
    client.follow([multiply], "It is 42.");
    const tested = await on.open();
    const { page, answer } = tested;
    await tested.say("Please count");
    await optionOf(cardOf(answer), "allow_always").click();
    await tested.settled();
    await tested.say("Please count again");
    await tested.settled();
    expect(await page.locator(".question-card").count()).toBe(0);
    await page.goto(`${on.url}/#/memory/permissions`);
    const kept = page.locator("[data-tool=calculate]");
    await kept.getByText("calculate").waitFor();
    expect(await findingsOn(page)).toEqual([]);
    await tested.press(texts.memory.permissions.revoke, kept);
    await page.getByText(texts.memory.permissions.none).waitFor();
    await page.goto(`${on.url}/#/chat`);
    await tested.press(texts.conversations.fresh);
    await tested.say("Please count once more");
    await cardOf(answer).waitFor();
    await tested.press(texts.chat.stop);
    await answer.getByText(texts.chat.stopped).waitFor();
  });

  test("a decision shows what is recommended, takes several answers and own words, and the model reads them", async () => {
    await client.makeAgent("planner", { keywords: ["plan"] });
    const options = [
      { label: "Train", description: "2:50 h, 31 €", is_recommended: true },
      { label: "骑自行车", description: "two days" },
      { label: "Bus", description: "" },
    ];
    const ask = { decision_type: "custom", context: "How shall we travel? See https://example.org/times", options, allow_multiple: true };
    client.follow(
      [callOf("ask_decision", ask)],
      [
        callOf("ask_clarification", {
          question_type: "scope",
          question: "For how long?",
          options: [{ label: "A day" }, { label: "A week", is_recommended: true }],
        }),
      ],
      "Planned.",
    );
    const tested = await on.open();
    const { page, answer } = tested;
    await tested.say("Please plan");
    const card = cardOf(answer);
    await card.getByText("How shall we travel?").waitFor();
    expect(await optionOf(card, "Train").locator("input").isChecked()).toBe(true);
    expect(await card.getByRole("link").getAttribute("href")).toBe("https://example.org/times");
    await optionOf(card, "Train").getByText(t.recommended).waitFor();
    expect(await findingsOn(page)).toEqual([]);
    await optionOf(card, "骑自行车").locator("input").focus();
    await page.keyboard.press("Space");
    await card.getByLabel(t.ownWords).fill("Back by bus.");
    await tested.press(t.answer, card);
    await card.getByText("For how long?").waitFor();
    expect(JSON.stringify(on.model.seen.at(-1)?.body.messages.at(-1))).toMatch(/Train.*骑自行车.*Back by bus/);
    expect(await card.getByRole("button", { name: t.answer }).isDisabled()).toBe(true);
    await card.getByLabel(t.ownWords).fill("一个周末");
    await tested.press(t.answer, card);
    await answer.getByText("Planned.").waitFor();
    expect(JSON.stringify(on.model.seen.at(-1)?.body.messages.at(-1))).toContain("一个周末");
    const closed = answer.locator("[data-closed=person]");
    expect(await closed.allInnerTexts()).toEqual([expect.stringContaining("Train, 骑自行车"), expect.stringContaining(t.ownWords)]);
  });

  test("a turn is stepped through, and a call that repeats itself is asked about", async () => {
    await client.makeAgent("looper", { keywords: ["loop"] });
    client.follow([multiply], [multiply], [multiply], "Out of it.");
    const tested = await on.open();
    const { page, answer } = tested;
    const options = page.locator(".composer-options");
    await options.locator("summary").click();
    await options.getByLabel(texts.chat.stepping).check();
    await tested.say("Please loop");
    const card = cardOf(answer);
    await card.getByText(t.stepModel("looper")).waitFor();
    await optionOf(card, "step").click();
    await card.getByText(t.stepCall("looper", "calculate")).waitFor();
    expect(await card.locator(".call-arguments").innerText()).toContain("6*7");
    await optionOf(card, "run").click();
    await card.getByText(t.loop("looper", "calculate")).waitFor();
    await optionOf(card, "skip")
      .getByText(t.explained["skip"] ?? "")
      .waitFor();
    await optionOf(card, "skip").click();
    await answer.getByText("Out of it.").waitFor();
    await tested.settled();
  });

  test("a question outlives the closed page and the killed service, is answered on a phone, and the turn ends there", async () => {
    client.follow([multiply], "It is 42.");
    const desk = await on.open();
    await desk.say("Please count");
    await cardOf(desk.answer).waitFor();
    await desk.close();
    on.kill("SIGKILL");
    await on.exited;
    await on.start();
    const phone = await on.open(PHONE);
    const { page, answer } = phone;
    await page.getByRole("button", { name: t.bell(1) }).tap();
    await page
      .getByRole("dialog")
      .getByRole("link", { name: t.permission("counter", "calculate") })
      .tap();
    const card = cardOf(answer);
    await card.getByText("6*7").waitFor();
    expect(await findingsOn(page)).toEqual([]);
    expect(await page.evaluate<boolean>("document.documentElement.scrollWidth > innerWidth")).toBe(false);
    expect((await optionOf(card, "allow_once").boundingBox())?.height).toBeGreaterThanOrEqual(44);
    await page.reload();
    await optionOf(card, "allow_once").tap();
    await answer.getByText("It is 42.").waitFor();
    await phone.settled();
    expect(await page.locator("article").count()).toBe(2);
    await page.reload();
    await answer
      .locator("[data-closed=person]")
      .getByText(t.answered(t.options["allow_once"] ?? ""))
      .waitFor();
    await page.getByRole("button", { name: t.bell(0) }).waitFor();
  });
});
