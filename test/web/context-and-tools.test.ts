import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { zh } from "../../web/texts/zh.ts";
import { putJson } from "../support/clients/api-client.ts";
import { openTestService } from "../support/services/service.ts";
import { findingsOn } from "./findings.ts";
import { describePage, startModelService, texts } from "./tested-page.ts";

async function startServices() {
  const profiles = join(tmpdir(), `${uuidv7()}.json`);
  await writeFile(profiles, JSON.stringify({ "test-chat": { context_window: 8_192, prices: { input: 2, output: 8 } } }));
  const service = await startModelService({ MODEL_PROFILES: profiles });
  const unpriced = await openTestService({ OPENAI_BASE_URL: service.model.url, CHAT_MODEL: "unpriced", CONTEXT_TOKEN_BUDGET: "256" });
  return { ...service, unpriced, close: () => unpriced.close().finally(() => service.close()) };
}

describePage("on the page with context and tools,", startServices, (on) => {
  test("the calls of an agent are drawn as they happen, are folded, and are there after a reload", async () => {
    const agent = { description: "Counts", keywords: ["count"], tools: ["calculate", "todo_write"] };
    expect((await putJson(`${on.url}/api/v1/agents/counter`, agent)).status).toBeLessThan(300);
    let asked = 0;
    const held = Promise.withResolvers<void>();
    on.model.answer(() => {
      if (asked++ > 0) return { tokens: ["It is 42."], until: held.promise };
      const items = [{ content: "multiply", status: "in_progress" }];
      return {
        toolCalls: [
          { name: "todo_write", arguments: { items } },
          { name: "calculate", arguments: { expression: "6*7" } },
          { name: "calculate", arguments: { expression: "6*" } },
        ],
      };
    });
    const tested = await on.open();
    const { page, answer } = tested;
    await tested.say("Please count");
    const first = answer.locator("details[data-tool=calculate]").first();
    await first.getByText(texts.acts.done).waitFor();
    await answer.locator("details[data-tool=calculate]").last().getByText(texts.acts.failed).waitFor();
    await answer.locator(".plan").getByText("multiply").waitFor();
    expect(await answer.getAttribute("aria-busy")).toBe("true");
    expect(await first.locator("pre").first().isVisible()).toBe(false);
    await first.locator("summary").focus();
    await page.keyboard.press("Enter");
    expect(await first.locator("pre").allInnerTexts()).toEqual([expect.stringContaining("6*7"), expect.stringContaining("42")]);
    expect(await findingsOn(page)).toEqual([]);
    held.resolve();
    await tested.settled();
    await page.reload();
    await tested.follow(/Please count/);
    await first.getByText(texts.acts.done).waitFor();
    expect(await answer.locator("details[data-tool=calculate]").count()).toBe(2);
    await first.locator("summary").click();
    expect(await first.locator("pre").last().innerText()).toContain("42");
  });

  test("the gauge shows how full the context is and of what, what the model takes and who says so, and the costs", async () => {
    on.model.answer({ tokens: ["a", "b"] });
    const tested = await on.open();
    const { page, answer } = tested;
    await tested.say("Good morning");
    await tested.settled();
    const gauge = page.locator(".gauge");
    await gauge.getByText("$0.000216").waitFor();
    expect(await gauge.getAttribute("data-level")).toBe("calm");
    await gauge.locator("summary").focus();
    await page.keyboard.press("Enter");
    await gauge.locator("[data-layer=window]").waitFor();
    await gauge
      .getByText(texts.context.sources["file"] ?? "")
      .first()
      .waitFor();
    expect(await gauge.getByRole("row", { name: texts.context.window }).innerText()).toContain("8,192");
    expect(await gauge.getByRole("row", { name: texts.context.longest }).innerText()).toContain(texts.context.unknown);
    expect(await findingsOn(page)).toEqual([]);
    await tested.say("And again");
    await gauge.getByText("$0.000432").first().waitFor();
    await tested.press(texts.chat.inspect, answer);
    await page.locator(".inspector").getByText("$0.000216").waitFor();
  });

  test("an unknown cost and a context that is nearly full are named so", async () => {
    on.model.answer({ tokens: ["yes"], withoutUsage: true });
    const tested = await on.open({ url: on.unpriced.url, locale: "zh-CN" });
    const gauge = tested.page.locator(".gauge");
    await tested.say("long ".repeat(400));
    await tested.settled();
    await gauge.getByText(`${zh.context.cost}: ${zh.context.unknown}`).waitFor();
    await gauge.locator("[role=status]").waitFor();
    expect(["warned", "saturated"]).toContain(await gauge.getAttribute("data-level"));
    await tested.answer.getByText(zh.context.notices["context_trimmed"] ?? "").waitFor();
    await gauge.locator("summary").click();
    expect(await gauge.getByTestId("conversation-cost").innerText()).toBe(`${zh.context.costOfAll}: ${zh.context.unknown}`);
    expect(await findingsOn(tested.page)).toEqual([]);
  });

  test("an answer and the gauge tell what was left out to make a prompt fit", async () => {
    on.model.answer((body) => {
      const size = Math.ceil(JSON.stringify(body.messages).length / 4);
      if (size <= 2_000) return { tokens: ["ok"], promptTokens: size };
      const message = `This model's maximum context length is 2000 tokens. However, your messages resulted in ${size} tokens.`;
      return { status: 400, error: { message, type: "invalid_request_error", code: "context_length_exceeded" } };
    });
    const tested = await on.open();
    await tested.say("long words ".repeat(1_500));
    await tested.settled();
    await tested.answer.getByText(texts.context.strategies.truncate).waitFor();
    await tested.page.locator(".gauge summary").click();
    await tested.page.locator(".gauge").getByText(texts.context.strategies.truncate).waitFor();
  });
});
