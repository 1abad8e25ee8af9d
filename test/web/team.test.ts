import { beforeEach, expect, test } from "@jest/globals";
import type { Locator } from "playwright-core";
import { zhViews } from "../../web/texts/views/zh-views.ts";
import { zh } from "../../web/texts/zh.ts";
import type { ModelScript } from "../servers/model-server.ts";
import { callApi, listConversations } from "../support/clients/api-client.ts";
import { askingClient, callOf } from "../support/services/asking-agent.ts";
import { findingsOn } from "./findings.ts";
import { describePage, startModelService, texts, type TestedPage } from "./tested-page.ts";

const t = texts.acts;
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, locale: "zh-CN" };

const ask = (agent: string, task: string) => callOf("ask_agent", { agent, task }, `ask-${agent}`);
const count = (expression: string) => callOf("calculate", { expression }, `count-${expression}`);
const member = (within: Locator, name: string): Locator => within.locator(`[data-member=${name}]`);
const stateOf = (within: Locator, name: string): Locator => member(within, name).locator("> details > summary .badge");
const active = ({ page }: TestedPage): Locator => page.locator("[data-active-agent]");

describePage("on the page with a team,", startModelService, (on) => {
  /** The agent to whom a request to the model belongs, by its instructions; `handed` where a turn was handed to it. */
  function agentOf(messages: readonly { content: string }[]): string {
    const text = messages.map(({ content }) => String(content)).join("\n");
    const name = /You are the (\w+)\./.exec(text)?.[1] ?? "assistant";
    return text.includes("handed this conversation to you") ? `${name} handed` : name;
  }

  /** What each agent's model says, round by round. */
  function play(script: Record<string, ModelScript[]>): void {
    on.model.answer(({ messages }) => {
      const rounds = messages.slice(messages.findLastIndex(({ role }) => role === "user")).filter(({ role }) => role === "assistant");
      return script[agentOf(messages)]?.[rounds.length] ?? { tokens: ["nothing"] };
    });
  }

  beforeEach(async () => {
    const client = askingClient(on);
    const make = (name: string, spec: object) =>
      client.makeAgent(name, { instructions: `You are the ${name}.`, tools: ["calculate"], ...spec });
    await make("clerk", { description: "Money" });
    await make("scout", { description: "Looks around", permissions: [{ tool: "calculate", action: "ask" }] });
    await make("scribe", { description: "Writes", subagents: ["clerk"] });
    await make("lead", { description: "Leads", keywords: ["plan", "计划"], subagents: ["scout", "scribe"], handoffs: ["clerk"] });
  });

  test("members at work side by side are drawn below the lead's tasks, and a member's question says who asks and is answered", async () => {
    const held = Promise.withResolvers<void>();
    play({
      lead: [{ toolCalls: [ask("scout", "Count the boats."), ask("scribe", "Write it down.")] }, { tokens: ["The plan stands."] }],
      scout: [{ toolCalls: [count("6*7")] }, { tokens: ["There are 42 boats."] }],
      scribe: [{ toolCalls: [count("1+1"), count("1+")] }, { tokens: ["It is written."], until: held.promise }],
    });
    const tested = await on.open();
    const { page, answer } = tested;
    await tested.say("Please plan");
    const calls = member(answer, "scribe").locator(".acts details");
    await calls.first().getByText(t.done).waitFor();
    await calls.last().getByText(t.failed).waitFor();
    expect(await stateOf(answer, "scribe").innerText()).toBe(t.working);
    expect(await stateOf(answer, "scout").innerText()).toBe(t.working);
    await page.reload();
    await calls.last().getByText(t.failed).waitFor();
    expect(await stateOf(answer, "scribe").innerText()).toBe(t.working);
    held.resolve();
    const card = answer.locator(".question-card");
    await card.getByText(texts.questions.by("lead › scout")).waitFor();
    const asked = texts.questions.asks(`lead › scout: ${texts.questions.permission("scout", "calculate")}`);
    await page.getByTestId("announcer").filter({ hasText: asked }).waitFor({ state: "attached" });
    expect(await stateOf(answer, "scribe").innerText()).toContain(t.done);
    expect(await stateOf(answer, "scout").innerText()).toBe(t.waits);
    expect(await findingsOn(page)).toEqual([]);
    await card.locator("[data-option=allow_once]").click();
    await answer.getByText("The plan stands.").waitFor();
    await tested.settled();

    const isWhole = async (): Promise<void> => {
      await stateOf(answer, "scout").getByText(t.done).waitFor();
      expect(await answer.locator(".acts .acts details").count()).toBe(3);
      const task = member(answer, "scout").locator("> details");
      await task.locator("summary").click();
      expect(await task.locator("pre").allInnerTexts()).toEqual(["Count the boats.", "There are 42 boats."]);
      expect(await answer.locator("[data-closed=person]").innerText()).toContain("lead › scout: ");
    };
    await isWhole();
    await page.reload();
    await tested.follow(/Please plan/);
    await isWhole();
    expect(await findingsOn(page)).toEqual([]);

    await page.goto(`${on.url}/#/agents`);
    const row = page.locator("[data-name=scout]");
    await row.locator("summary", { hasText: texts.agents.figures }).click();
    const figures = row.locator(".counts");
    await figures.waitFor();
    expect(await figures.innerText()).toMatch(/Runs\s+1\s+of them for another agent\s+1\s+Successful\s+100 %/);
    await row.locator("summary", { hasText: texts.agents.figures }).press("Enter");
    await tested.press(texts.agents.edit, page.locator("[data-name=lead]"));
    await page.locator("summary", { hasText: texts.agents.team }).click();
    const field = (name: string) => page.locator(`[data-field="${name}"]`);
    expect(await field("subagents").getByRole("textbox").inputValue()).toBe("scout\nscribe");
    await field("team.strategy").getByRole("combobox").selectOption("sequential");
    await field("limits.max_depth").getByRole("textbox").fill("2");
    await page.getByText(texts.agents.fits).waitFor();
    await tested.press(texts.agents.save);
    await page.getByText(texts.agents.saved).waitFor();
    const { json } = await callApi<object>(`${on.url}/api/v1/agents/lead`);
    expect(json).toMatchObject({ team: { strategy: "sequential" }, handoffs: ["clerk"], limits: { max_depth: 2 } });
    expect(await findingsOn(page)).toEqual([]);
  });

  test("a handoff is a line, the agent that got it answers on until somebody ends that, and that is seen after a reload", async () => {
    play({
      lead: [{ toolCalls: [callOf("handoff_to", { agent: "clerk", reason: "It is about money." })] }],
      "clerk handed": [{ tokens: ["The clerk speaks."] }],
      clerk: [{ tokens: ["The clerk goes on."] }],
      assistant: [{ tokens: ["The assistant speaks."] }],
    });
    const tested = await on.open();
    const { page, answer } = tested;
    const options = page.locator(".composer-options");
    await options.locator("summary").click();
    await options.getByRole("combobox", { name: texts.chat.whoAnswers }).selectOption("lead");
    await tested.say("Please plan");
    await answer.getByText("The clerk speaks.").waitFor();
    await answer.getByText(t.handedOver("lead", "clerk", "It is about money.")).waitFor();
    await tested.settled();
    await active(tested).getByText(texts.chat.answersNow("clerk")).waitFor();
    expect(await findingsOn(page)).toEqual([]);
    await tested.say("Please plan on");
    await tested.settled();
    await answer.getByText("The clerk goes on.").waitFor();

    await page.reload();
    await tested.follow(/Please plan/);
    await page.locator(".handoff").waitFor();
    await active(tested).getByText("clerk").waitFor();
    await tested.press(texts.chat.endHandoff);
    await active(tested).waitFor({ state: "detached" });
    expect(await page.evaluate<string>("document.activeElement.id")).toBe("message");
    await tested.say("And now?");
    await answer.getByText("The assistant speaks.").waitFor();
    await tested.settled();
    expect(await active(tested).count()).toBe(0);
    expect(await listConversations(on.url, on.user)).toMatchObject([{ active_agent: null }]);
  });

  test("a member that answers in its lead's place stands beside its calls", async () => {
    await askingClient(on).makeAgent("head", { subagents: ["clerk"], keywords: ["money"], team: { strategy: "single" } });
    await askingClient(on).makeAgent("clerk", { keywords: ["money"], instructions: "You are the clerk." });
    play({ clerk: [{ toolCalls: [count("6*7")] }, { tokens: ["It costs 42."] }] });
    const tested = await on.open();
    await tested.page.locator(".composer-options summary").click();
    await tested.page.getByRole("combobox", { name: texts.chat.whoAnswers }).selectOption("head");
    await tested.say("Count the money");
    await tested.answer.getByText("It costs 42.").waitFor();
    await tested.settled();
    expect(await tested.answer.locator("details[data-tool=calculate] summary").innerText()).toContain("head › clerk");
    await tested.page.locator(".composer-options summary").click();
    expect(await findingsOn(tested.page)).toEqual([]);
  });

  test("a Chinese phone shows members three deep with nothing cut off, and the form of a team", async () => {
    play({
      lead: [{ toolCalls: [ask("scribe", "写下来。")] }, { toolCalls: [callOf("handoff_to", { agent: "clerk", reason: "谈钱。" })] }],
      scribe: [{ toolCalls: [ask("clerk", "算一算。")] }, { tokens: ["写好了。"] }],
      clerk: [{ toolCalls: [count("12345678901234567890*98765432109876543210")] }, { tokens: ["算好了。"] }],
      "clerk handed": [{}, { tokens: ["好了。"] }], // it sees the task that was done before
    });
    const tested = await on.open(PHONE);
    const { page, answer } = tested;
    const isCut = (): Promise<boolean> => page.evaluate<boolean>("document.documentElement.scrollWidth > innerWidth");
    await tested.say("请做计划");
    await answer.getByText("好了。", { exact: true }).waitFor();
    await tested.settled();
    const deepest = member(member(answer, "scribe"), "clerk").locator(".acts details");
    await answer.getByText(zh.acts.handedOver("lead", "clerk", "谈钱。")).waitFor();
    await active(tested).getByText(zh.chat.answersNow("clerk")).waitFor();
    await deepest.locator("summary").tap();
    await deepest.getByText(zh.acts.by("lead › scribe › clerk")).waitFor();
    expect(await isCut()).toBe(false);
    expect(await findingsOn(page)).toEqual([]);
    await page.goto(`${on.url}/#/agents`);
    await page.locator("[data-name=lead]").getByRole("button", { name: zhViews.agents.edit }).tap();
    await page.locator("summary", { hasText: zhViews.agents.team }).tap();
    await page.getByText(zhViews.agents.fits).waitFor();
    await page.locator("[data-name=clerk] summary", { hasText: zhViews.agents.figures }).tap();
    await page.locator("[data-name=clerk] .counts").waitFor();
    expect(await isCut()).toBe(false);
    expect(await findingsOn(page)).toEqual([]);
  });
});
