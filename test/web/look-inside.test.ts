import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { callApi, listConversations, postJson } from "../support/clients/api-client.ts";
import { makeKnowledgeClient } from "../support/clients/knowledge-client.ts";
import { openBrowser, whyNoBrowser } from "../servers/browser.ts";
import { closeWithoutProblems, openTestedPage, texts, type TestedPage } from "./tested-page.ts";
import { killServiceProcesses, startServiceProcess } from "../servers/service-process.ts";

const missing = await whyNoBrowser();
if (missing) test.skip(`looking inside an answer (skipped: ${missing})`, () => undefined);

(missing ? describe.skip : describe)("looking inside an answer", () => {
  const t = texts.inspector;
  let browser: Browser;
  let url: string;
  let tested: TestedPage;

  beforeAll(async () => {
    ({ url } = await startServiceProcess({
      DATA_DIR: "memory://",
      RATE_LIMIT_PER_MINUTE: "0",
      HISTORY_WINDOW: "2",
      SUMMARY_MIN_MESSAGES: "4",
      SUMMARY_UPDATE_DELTA: "2",
      MEMORY_READ_TIMEOUT_MS: "10000",
    }));
    browser = await openBrowser();
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await killServiceProcesses();
  });
  afterEach(() => closeWithoutProblems(tested));

  const post = <Body>(path: string, body: unknown) => postJson<Body>(`${url}/api/v1${path}`, body);
  const settle = (conversationId: string) => post(`/conversations/${conversationId}/settle?timeout_ms=50000`, {});
  const say = async (user: string, session: string, message: string): Promise<string> => {
    const { json } = await post<{ conversation_id: string }>("/chat", { user_id: user, session_id: session, message });
    await settle(json.conversation_id);
    return json.conversation_id;
  };

  test("shows the nodes on the time of the turn, the route with its reason, and the prompt by layer", async () => {
    tested = await openTestedPage(browser, url, { user: "nodes" });
    const { page } = tested;
    await tested.say("Hello there");
    await tested.settled();
    await tested.answer.locator(".markdown").click();
    await page.locator(".timeline-row[data-node=route]").waitFor();
    const rows = await Promise.all((await page.locator(".timeline-row").all()).map((row) => row.getAttribute("data-node")));
    expect(rows).toEqual(expect.arrayContaining(["route", "history", "core_memory", "generate_rag"]));
    expect(await page.getByText(t.noStarts).count()).toBe(0);
    await page.getByText("there is no knowledge base").waitFor();
    expect(Number(await page.locator("tr[data-layer=system] td").innerText())).toBeGreaterThan(0);
    expect(Number(await page.locator("tr[data-layer=message] td").innerText())).toBeGreaterThan(0);
    await page.getByRole("button", { name: texts.close }).click();
    expect(await page.locator(".inspector").count()).toBe(0);
  });

  test("shows the summary as it stood, and recalled exchanges with the way to where they came from", async () => {
    await say("recalls", "old", "The key of the cabin is under the blue flower pot.");
    for (const message of ["What is two and two?", "And three and three?", "And four and four?"]) await say("recalls", "new", message);
    tested = await openTestedPage(browser, url, { user: "recalls" });
    const { page } = tested;
    await page.getByRole("link", { name: /What is two/ }).click();
    await tested.answer.waitFor();
    await tested.say("Where is the key of the cabin?");
    await tested.settled();
    await tested.answer.getByRole("button", { name: texts.chat.inspect }).click();
    await page.getByText(/^Summary, version \d+, covers \d+ messages$/).waitFor();
    expect((await page.locator(".inspector blockquote").innerText()).length).toBeGreaterThan(10);
    const recalled = page.locator(".inspector .card", { hasText: "blue flower pot" });
    await recalled.waitFor();
    await recalled.getByRole("button", { name: t.jump }).click();
    const target = page.locator("article.from-user", { hasText: "blue flower pot" });
    await target.waitFor();
    expect(await page.locator("article.from-user").count()).toBe(1);
    expect(await page.evaluate<string | undefined>("document.activeElement?.id")).toBe(await target.getAttribute("id"));
  });

  test("shows the text of each passage, and says so once its document was replaced", async () => {
    const knowledge = makeKnowledgeClient(url);
    const handbook = (limit: number) => ({
      title: "Travel handbook",
      text: `# Travel handbook\n\n## Hotels\nThe limit for a hotel night in Lisbon is ${limit} euros.`,
      external_id: "handbook",
    });
    await knowledge.put("travel", { description: "Travel rules", keywords: ["hotel"] });
    await knowledge.add("travel", handbook(140));
    await knowledge.settled("travel");
    tested = await openTestedPage(browser, url, { user: "reads", refusals: [404] });
    await tested.page.getByRole("combobox", { name: texts.chat.knowledge }).selectOption("travel");
    await tested.say("What is the limit for a hotel night in Lisbon?");
    await tested.settled();
    await tested.answer.getByRole("button", { name: texts.chat.inspect }).click();
    const passage = tested.page.locator(".inspector .card", { hasText: "Travel handbook" });
    await passage.locator("blockquote", { hasText: "140 euros" }).waitFor();
    await passage
      .getByText(/Hotels/)
      .first()
      .waitFor();
    await knowledge.add("travel", handbook(155));
    await knowledge.settled("travel");
    await tested.page.getByRole("button", { name: texts.close }).click();
    await tested.answer.getByRole("button", { name: texts.chat.inspect }).click();
    await passage.getByText(t.passageGone).waitFor();
    expect(await passage.locator("blockquote").count()).toBe(0);
  });

  test("shows what memory learnt from the turn, from what to what, and takes it back", async () => {
    await say("learns", "s", "I live in Lisbon.");
    const [conversation] = await listConversations(url, "learns");
    tested = await openTestedPage(browser, url, { user: "learns", at: `/#/chat/${conversation?.id ?? ""}` });
    const { page } = tested;
    await tested.answer.waitFor();
    await tested.say("I moved to Porto.");
    await tested.settled();
    await settle(conversation?.id ?? "");
    await tested.answer.getByRole("button", { name: texts.chat.inspect }).click();
    const change = page.locator(".operation");
    await change.waitFor();
    expect(await change.locator(".before").innerText()).toContain("Lisbon");
    expect(await change.locator(".after").innerText()).toContain("Porto");
    await change.getByRole("button", { name: t.undo }).click();
    await change.getByText(t.undone).waitFor();
    const { json } = await callApi<{ sections: { content: string }[] }>(`${url}/api/v1/users/learns/core-memory`);
    expect(json.sections.map(({ content }) => content).join()).toContain("Lisbon");
  });

  test("an undo over somebody else's newer edit is refused and says so", async () => {
    const id = await say("races", "s", "I live in Lisbon.");
    tested = await openTestedPage(browser, url, { user: "races", at: `/#/chat/${id}`, refusals: [409] });
    await tested.answer.getByRole("button", { name: texts.chat.inspect }).click();
    const change = tested.page.locator(".operation");
    await change.waitFor();
    await fetch(`${url}/api/v1/users/races/core-memory/profile`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ content: "Lives on a boat." }),
    });
    await change.getByRole("button", { name: t.undo }).click();
    await change.getByText(texts.errors["stale_version"] ?? "").waitFor();
  });
});
