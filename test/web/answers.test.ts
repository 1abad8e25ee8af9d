import { expect, test } from "@jest/globals";
import { zh } from "../../web/texts/zh.ts";
import { callApi, listConversations, listMessages, putJson } from "../support/clients/api-client.ts";
import { makeKnowledgeClient } from "../support/clients/knowledge-client.ts";
import { waitUntil } from "../support/wait-until.ts";
import { findingsOn } from "./findings.ts";
import { describePage, startModelService, texts } from "./tested-page.ts";

const startService = async () => {
  const service = await startModelService({ ENABLE_EPISODIC_MEMORY: "true", EMBEDDING_MODEL: "built-in" });
  const knowledge = makeKnowledgeClient(service.url);
  await knowledge.put("trains", { description: "Trains", keywords: ["bicycle", "自行车"] });
  await knowledge.add("trains", { title: "Bicycles", text: "# Bicycles\n\n## Regional\nBicycles travel free on regional trains." });
  await knowledge.settled("trains");
  return service;
};
const CLIPBOARD = { permissions: ["clipboard-read", "clipboard-write"] };
const COPIED = "navigator.clipboard.readText()";

describePage("on the page with answers,", startService, (on) => {
  test("a citation opens its passage beside the answer, both at once and after a reload, by keyboard and on a phone", async () => {
    on.model.answer({ tokens: ["Bicycles travel **free** [1]. `a[1]` is code, [7] is nothing."] });
    const tested = await on.open(CLIPBOARD);
    const { page, answer } = tested;
    await tested.say("How does a bicycle travel?");
    await tested.settled();
    const cite = answer.locator("button.cite");
    await cite.first().focus();
    await page.keyboard.press("Enter");
    const passage = page.getByRole("complementary", { name: texts.chat.citedTitle });
    await passage.getByText("Bicycles travel free on regional trains.").waitFor();
    expect(await cite.count()).toBe(1);
    expect(await answer.locator("code").innerText()).toBe("a[1]");
    expect(await findingsOn(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await passage.waitFor({ state: "detached" });
    await tested.press(texts.copy, answer.locator(".message-foot"));
    expect(await page.evaluate<string>(COPIED)).toContain(`${texts.chat.sources}:\n[1] Bicycles`);
    const phone = await on.open({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, locale: "zh-CN" });
    await phone.page.getByRole("button", { name: zh.conversations.title }).tap();
    await phone.page
      .getByRole("dialog")
      .getByRole("link", { name: /bicycle/ })
      .tap();
    await phone.answer.locator("button.cite").tap();
    await phone.page.getByRole("dialog").getByText("Bicycles travel free").waitFor();
    expect(await findingsOn(phone.page)).toEqual([]);
  });

  test("code is coloured by its language and copied alone, even in a message of the user", async () => {
    const code = "const answer: number = 42;\n<b>no tag</b>";
    on.model.answer({ tokens: ["So:\n\n```ts\n", code, "\n```\n\nDone."] });
    const tested = await on.open(CLIPBOARD);
    const { page, answer } = tested;
    await tested.say("Would you rather write it like this, please?\n```python\ndef f(): return 1\n```");
    await tested.settled();
    await answer.locator(".hljs-keyword", { hasText: "const" }).waitFor();
    expect((await answer.locator("pre").innerText()).trim()).toBe(code);
    expect(await answer.locator("pre b").count()).toBe(0);
    await page.locator("article.from-user .hljs-keyword", { hasText: "def" }).waitFor();
    expect(await findingsOn(page)).toEqual([]);
    await tested.press(texts.copy, answer.locator(".code-block"));
    expect((await page.evaluate<string>(COPIED)).trim()).toBe(code);
  });

  test("an answer is rated, a bad rating has a reason, and the rating is taken back", async () => {
    on.model.answer({ tokens: ["Something."] });
    const tested = await on.open();
    const { page, answer } = tested;
    await tested.say("Rate me");
    await tested.settled();
    const ratingOf = async () => {
      const [conversation] = await listConversations(on.url, on.user);
      const answerId = (await listMessages(on.url, conversation?.id ?? ""))[1]?.id ?? "";
      const { json } = await callApi<{ message: { rating: { value: number; comment: string | null } | null } }>(
        `${on.url}/api/v1/messages/${answerId}`,
      );
      return json.message.rating;
    };
    await tested.press(texts.rating.bad, answer);
    await answer.getByLabel(texts.rating.why).fill("Too short.");
    await tested.press(texts.rating.send, answer);
    await answer.getByLabel(texts.rating.why).waitFor({ state: "detached" });
    expect(await ratingOf()).toMatchObject({ value: -1, comment: "Too short." });
    await page.reload();
    await tested.follow(/Rate me/);
    await answer.locator(`[aria-label="${texts.rating.bad}"][aria-pressed=true]`).waitFor();
    expect(await findingsOn(page)).toEqual([]);
    await tested.press(texts.rating.good, answer);
    await waitUntil("it is good", async () => (await ratingOf())?.value === 1);
    await tested.press(texts.rating.good, answer);
    await waitUntil("it is taken back", async () => (await ratingOf()) === null);
  });

  test("agent and temporary chat are chosen for the messages that follow, and a line names them when the options are folded", async () => {
    expect((await putJson(`${on.url}/api/v1/agents/poet`, { description: "Writes poems" })).status).toBeLessThan(300);
    on.model.answer({ tokens: ["A poem."] });
    const tested = await on.open();
    const { page } = tested;
    const options = page.locator(".composer-options");
    await options.locator("summary").click();
    await options.getByRole("combobox", { name: texts.chat.whoAnswers }).selectOption("poet");
    await options.getByLabel(texts.chat.temporary).check();
    expect(await findingsOn(page)).toEqual([]);
    await options.locator("summary").click();
    expect(await options.locator(".chosen").innerText()).toBe(`${texts.chat.temporary} · poet`);
    await tested.say("Write");
    await tested.settled();
    const [conversation] = await listConversations(on.url, on.user);
    const [, stored] = await listMessages(on.url, conversation?.id ?? "");
    expect(stored?.metadata).toMatchObject({ remember: false, worker_name: "agent:poet" });
  });

  test("what was written and not sent stays with its conversation, even after a reload", async () => {
    on.model.answer({ tokens: ["Yes."] });
    const tested = await on.open();
    const { page } = tested;
    const field = page.locator("#message");
    await tested.say("First conversation");
    await tested.settled();
    await field.fill("a half sentence\nof two lines");
    await tested.press(texts.conversations.fresh);
    expect(await field.inputValue()).toBe("");
    await field.fill("另一个草稿");
    await tested.follow(/First conversation/);
    await waitUntil("the first draft is back", async () => (await field.inputValue()) === "a half sentence\nof two lines");
    await page.reload();
    await tested.answer.waitFor();
    expect(await field.inputValue()).toBe("a half sentence\nof two lines");
    await tested.press(texts.conversations.fresh);
    await tested.say("Second");
    await tested.settled();
    expect(await field.inputValue()).toBe("");
  });
});
