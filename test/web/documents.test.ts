import { expect, test } from "@jest/globals";
import { openPostgres } from "../../stores/postgres/database/open-postgres.ts";
import { zhViews } from "../../web/texts/views/zh-views.ts";
import { makeKnowledgeClient } from "../support/clients/knowledge-client.ts";
import { findingsOn } from "./findings.ts";
import { describePage, startOfflineService, texts } from "./tested-page.ts";

const t = texts.documents;
const file = (name: string, text: string) => ({ name, mimeType: "", buffer: Buffer.from(text) });

/** Drops a file, as a browser tells of it. */
const DROP = `(zone) => {
  const data = new DataTransfer();
  data.items.add(new File(["# Ferries\\n\\nThe ferry to the island leaves at noon."], "ferries.md"));
  zone.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
}`;

describePage("on the page of documents,", startOfflineService, (on) => {
  test("a base is made, files are dropped and chosen, read, searched with scores, cited in an answer, and deleted", async () => {
    const tested = await on.open({ at: "/#/documents", refusals: [422] });
    const { page } = tested;
    await page.getByLabel(t.name, { exact: true }).fill("travel");
    await page.getByLabel(t.description).fill("Ferries and hotels");
    await page.getByLabel(t.keywords).fill("ferry, 渡轮");
    await tested.press(t.make);
    await page.getByRole("link", { name: "travel" }).waitFor();
    expect(page.url()).toContain("#/documents/travel");
    await page.locator(".drop-zone").waitFor();
    await page.evaluate(`(${DROP})(document.querySelector(".drop-zone"))`);
    const ferries = page.locator("[data-document='ferries.md']");
    await ferries.waitFor();
    const knowledge = makeKnowledgeClient(on.url);
    await knowledge.settled("travel");
    await ferries.getByText(t.states.indexed).waitFor();
    await page.getByLabel(t.drop).setInputFiles([file("empty.txt", " "), file("hotels.txt", "A hotel night costs 140 euros.")]);
    await page.locator("[data-document='hotels.txt']").waitFor();
    await knowledge.settled("travel");
    await page.locator("[data-document='hotels.txt']").getByText(t.states.indexed).waitFor();
    await page.locator(".drop-zone .note.error", { hasText: "empty.txt" }).waitFor();
    await ferries.getByText(t.passages(1)).click();
    await ferries.locator("[data-passage]", { hasText: "leaves at noon" }).getByText("Ferries").waitFor();
    await page.getByLabel(t.question).fill("When does the ferry leave?");
    await tested.press(t.go);
    const first = page.getByRole("region", { name: t.search }).locator("[data-passage]").first();
    await first.getByText("leaves at noon").waitFor();
    expect(await first.innerText()).toContain(t.rank(1));
    expect(await first.innerText()).not.toContain(t.score(""));
    await page.getByLabel(t.question).fill("When does the ferry leave, and what does a hotel night cost?");
    await tested.press(t.go);
    const second = page.getByRole("region", { name: t.search }).locator("[data-passage]").nth(1);
    await second.getByText(/^score -?\d/).waitFor();
    expect(await findingsOn(page)).toEqual([]);
    await page.getByRole("link", { name: texts.views.chat }).click();
    await tested.say("When does the ferry leave?");
    await tested.settled();
    await tested.openSource(texts.chat.sources, "ferries.md", "leaves at noon");
    await page.goto(`${on.url}/#/documents/travel`);
    await tested.press(t.remove, ferries);
    await tested.press(t.remove, page.getByRole("dialog"));
    await ferries.waitFor({ state: "detached" });
  });

  test("a document that was not read in time is read again when somebody presses for it", async () => {
    const knowledge = makeKnowledgeClient(on.url);
    await knowledge.put("late", { description: "Late papers" });
    await knowledge.add("late", { title: "late.md", text: "# Ferries\n\nAt noon." });
    await knowledge.settled("late");
    const database = await openPostgres(on.databaseUrl);
    await database.query({
      text: "delete from knowledge_chunks using knowledge_documents where document_id = knowledge_documents.id and title = 'late.md'",
    });
    const text = "update knowledge_documents set status = 'failed', error = 'Late.', source = '# Ferries' where title = 'late.md'";
    await database.query({ text });
    await database.close();
    const tested = await on.open({ at: "/#/documents/late" });
    const late = tested.page.locator("[data-document='late.md']");
    await late.getByText(t.states.failed).waitFor();
    await tested.press(t.readAgain, late);
    await late.getByText(t.states.indexed).waitFor();
    expect(await late.getByText(t.readAgain).count()).toBe(0);
    expect(await findingsOn(tested.page)).toEqual([]);
    await knowledge.remove("late");
  });

  test("nothing is cut off in Chinese on a phone", async () => {
    const tested = await on.open({
      at: "/#/documents",
      locale: "zh-CN",
      viewport: { width: 360, height: 740 },
      hasTouch: true,
      isMobile: true,
    });
    await tested.page.locator("h1", { hasText: zhViews.documents.title }).waitFor();
    await tested.page.locator("form, .drop-zone").first().waitFor();
    expect(await findingsOn(tested.page)).toEqual([]);
    expect(await tested.page.evaluate<boolean>("document.documentElement.scrollWidth > innerWidth")).toBe(false);
  });

  test("an empty service explains itself, puts an example into the field, and shows the way to documents and to a model", async () => {
    const tested = await on.open({ viewport: { width: 1360, height: 400 } });
    const { page } = tested;
    await page.getByText("OPENAI_BASE_URL=").waitFor();
    expect(await page.locator(".thread").evaluate((thread) => (thread as unknown as { scrollTop: number }).scrollTop)).toBe(0);
    expect(await findingsOn(page)).toEqual([]);
    await tested.press(texts.welcome.examples[0] ?? "");
    expect(await page.locator("#message").inputValue()).toBe(texts.welcome.examples[0]);
    await page.keyboard.press("Enter");
    await tested.settled();
    expect(await page.locator(".welcome-cards").count()).toBe(0);
    await tested.press(texts.conversations.fresh);
    await page.getByRole("link", { name: texts.welcome.documentsGo }).click();
    await page.locator("h1", { hasText: t.title }).waitFor();
  });
});
