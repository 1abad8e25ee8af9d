import { expect, test } from "@jest/globals";
import { coreMemoryApi } from "../support/services/service-with-core-memory.ts";
import { findingsOn } from "./findings.ts";
import { makeKnowledgeClient } from "../support/clients/knowledge-client.ts";
import { describePage, sayAndSettle, startOfflineService, texts } from "./tested-page.ts";

const startService = () => startOfflineService({ HISTORY_WINDOW: "2", SUMMARY_MIN_MESSAGES: "4", SUMMARY_UPDATE_DELTA: "2" });

describePage("the inside of an answer", startService, (on) => {
  const t = texts.inspector;
  test("shows the nodes on the time of the turn, the route with its reason, and the prompt by layer", async () => {
    const tested = await on.open();
    const { page } = tested;
    await tested.say("Hello there");
    await tested.settled();
    await tested.answer.locator(".markdown").click();
    await page.locator(".timeline-row[data-node=route]").waitFor();
    const rows = await Promise.all((await page.locator(".timeline-row").all()).map((row) => row.getAttribute("data-node")));
    expect(rows).toEqual(expect.arrayContaining(["route", "history", "core_memory", "generate"]));
    expect(await page.getByText(t.noStarts).count()).toBe(0);
    await page.getByText("there is no knowledge base").waitFor();
    expect(Number(await page.locator("tr[data-layer=system] td").innerText())).toBeGreaterThan(0);
    expect(Number(await page.locator("tr[data-layer=message] td").innerText())).toBeGreaterThan(0);
    await tested.press(texts.close);
    expect(await page.locator(".inspector").count()).toBe(0);
  });

  test("shows two turns of a conversation side by side", async () => {
    await sayAndSettle(on.url, on.user, "Hello there", "two");
    const tested = await on.open();
    const { page } = tested;
    await tested.follow(/Hello there/);
    await tested.answer.waitFor();
    await tested.say("A longer message, which takes more tokens than the first one did");
    await tested.settled();
    await tested.press(texts.chat.inspect, tested.answer);
    await page.getByRole("combobox", { name: t.compareWith }).selectOption({ label: "Hello there" });
    const tokens = async (row: string) =>
      (await page.locator(`[data-row="${row}"] td`).allInnerTexts()).map((text) => Number(text.replace(/\D/g, "")));
    await page.locator(".compared").waitFor();
    const [here = 0, other = 0] = await tokens(`· ${t.layers.message}`);
    expect(here).toBeGreaterThan(other);
    expect(await page.locator(`[data-row="${t.route}"] td`).first().innerText()).toContain("general");
    expect(await findingsOn(page)).toEqual([]);
  });

  test("shows the summary as it stood, and recalled exchanges with the way to where they came from", async () => {
    await sayAndSettle(on.url, on.user, "The key of the cabin is under the blue flower pot.", "old");
    for (const message of ["What is two and two?", "And three and three?", "And four and four?"])
      await sayAndSettle(on.url, on.user, message, "new");
    const tested = await on.open();
    const { page } = tested;
    await tested.follow(/What is two/);
    await tested.answer.waitFor();
    await tested.say("Where is the key of the cabin?");
    await tested.settled();
    await tested.press(texts.chat.inspect, tested.answer);
    await page.getByText(/^Summary, version \d+, covers \d+ messages$/).waitFor();
    expect((await page.locator(".inspector blockquote").innerText()).length).toBeGreaterThan(10);
    const recalled = page.locator(".inspector .card", { hasText: "blue flower pot" });
    await recalled.waitFor();
    await tested.press(t.jump, recalled);
    const target = page.locator("article.from-user", { hasText: "blue flower pot" });
    await target.waitFor();
    expect(await page.locator("article.from-user").count()).toBe(1);
    expect(await page.evaluate<string | undefined>("document.activeElement?.id")).toBe(await target.getAttribute("id"));
  });

  test("shows the text of each passage, and says when its document was replaced", async () => {
    const knowledge = makeKnowledgeClient(on.url);
    const handbook = (limit: number) => ({
      title: "Travel handbook",
      text: `# Travel handbook\n\n## Hotels\nThe limit for a hotel night in Lisbon is ${limit} euros.`,
      external_id: "handbook",
    });
    await knowledge.put("travel", { description: "Travel rules", keywords: ["hotel"] });
    await knowledge.add("travel", handbook(140));
    await knowledge.settled("travel");
    const tested = await on.open({ refusals: [404] });
    await tested.page.locator(".composer-options summary").click();
    await tested.page.getByRole("combobox", { name: texts.chat.knowledge }).selectOption("travel");
    await tested.say("What is the limit for a hotel night in Lisbon?");
    await tested.settled();
    await tested.press(texts.chat.inspect, tested.answer);
    const passage = tested.page.locator(".inspector .card", { hasText: "Travel handbook" });
    await passage.locator("blockquote", { hasText: "140 euros" }).waitFor();
    expect(await passage.innerText()).toContain("Hotels");
    await knowledge.add("travel", handbook(155));
    await knowledge.settled("travel");
    await tested.press(texts.close);
    await tested.press(texts.chat.inspect, tested.answer);
    await passage.getByText(t.passageGone).waitFor();
    expect(await passage.locator("blockquote").count()).toBe(0);
  });

  test("shows what memory learnt from the turn, with what it replaced, and takes it back", async () => {
    const id = await sayAndSettle(on.url, on.user, "I live in Lisbon.");
    const tested = await on.open({ at: `/#/chat/${id}` });
    const { page } = tested;
    await tested.answer.waitFor();
    await tested.say("I moved to Porto.");
    await tested.settled();
    await coreMemoryApi(on.url).settle(id);
    await tested.press(texts.chat.inspect, tested.answer);
    const change = page.locator(".operation");
    await change.waitFor();
    expect(await change.locator(".before").innerText()).toContain("Lisbon");
    expect(await change.locator(".after").innerText()).toContain("Porto");
    await tested.press(t.undo, change);
    await change.getByText(t.undone).waitFor();
    expect((await coreMemoryApi(on.url).contents(on.user))["profile"]).toContain("Lisbon");
  });

  test("refuses to undo what somebody else has edited since, and says so", async () => {
    const id = await sayAndSettle(on.url, on.user, "I live in Lisbon.");
    const tested = await on.open({ at: `/#/chat/${id}`, refusals: [409] });
    await tested.press(texts.chat.inspect, tested.answer);
    const change = tested.page.locator(".operation");
    await change.waitFor();
    await coreMemoryApi(on.url).write(on.user, "profile", "Lives on a boat.");
    await tested.press(t.undo, change);
    await change.getByText(texts.errors["stale_version"] ?? "").waitFor();
  });
});
