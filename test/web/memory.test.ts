import { readFile } from "node:fs/promises";
import type { Locator } from "playwright-core";
import { expect, test } from "@jest/globals";
import { listConversations } from "../support/clients/api-client.ts";
import { coreMemoryApi } from "../support/services/service-with-core-memory.ts";
import { waitUntil } from "../support/wait-until.ts";
import { describePage, sayAndSettle, startOfflineService, texts, type TestedPage } from "./tested-page.ts";

const startService = () => startOfflineService({ CORE_MEMORY_SECTIONS: "allergies" });

describePage("on the page of a user's memory,", startService, (on) => {
  const t = texts.memory;
  const say = (message: string): Promise<string> => sayAndSettle(on.url, on.user, message);
  const write = (section: string, content: string) => coreMemoryApi(on.url).write(on.user, section, content);
  const sections = () => coreMemoryApi(on.url).contents(on.user);
  async function edit(tested: TestedPage, card: Locator, label: string, content: string): Promise<void> {
    await tested.press(t.core.edit, card);
    await card.getByLabel(t.core.label(label)).fill(content);
  }
  async function save(tested: TestedPage, card: Locator, version: number): Promise<void> {
    await tested.press(t.core.save, card);
    await card.getByText(t.core.version(version)).first().waitFor();
  }

  test("a section is written, edited, looked back at and reverted", async () => {
    const tested = await on.open({ at: "/#/memory/core" });
    const card = tested.page.locator("[data-section=profile]");
    for (const [index, content] of ["Lives in Lisbon.", "Lives in Porto."].entries()) {
      await edit(tested, card, "Profile", content);
      await save(tested, card, index + 1);
    }
    await tested.press(t.core.history, card);
    await tested.press(`${t.core.revert}: ${t.core.version(1)}`, card);
    await card.getByText(t.core.version(3)).first().waitFor();
    expect(await sections()).toEqual({ profile: "Lives in Lisbon." });
    await tested.press(t.core.remove, card);
    await card.getByText(t.core.empty, { exact: true }).waitFor();
    expect(await sections()).toEqual({});
  });

  test("sections that the operator has set up are shown while they are empty, and can be written", async () => {
    const tested = await on.open({ at: "/#/memory/core" });
    const card = tested.page.locator("[data-section=allergies]");
    await card.getByText(t.core.empty, { exact: true }).waitFor();
    expect(await tested.page.locator(".section").count()).toBe(7);
    await edit(tested, card, "allergies", "No nuts.");
    await save(tested, card, 1);
    expect(await sections()).toEqual({ allergies: "No nuts." });
  });

  test("somebody else's edit is shown before anything is overwritten", async () => {
    await write("profile", "Lives in Lisbon.");
    const tested = await on.open({ at: "/#/memory/core", refusals: [409] });
    const card = tested.page.locator("[data-section=profile]");
    await edit(tested, card, "Profile", "Lives on the moon.");
    await write("profile", "Lives in Faro.");
    await tested.press(t.core.save, card);
    await card.locator(".stale", { hasText: "Lives in Faro." }).waitFor();
    expect(await sections()).toEqual({ profile: "Lives in Faro." });
    await tested.press(t.core.keepMine, card);
    await card.getByText(t.core.version(3)).first().waitFor();
    expect(await sections()).toEqual({ profile: "Lives on the moon." });
  });

  test("exchanges are found, lead to their conversation, and single ones are forgotten", async () => {
    await say("My favourite painter is Paula Rego.");
    await say("The train leaves at nine.");
    const tested = await on.open({ at: "/#/memory/episodes" });
    const { page } = tested;
    const found = page.locator(".cards .card", { hasText: "Paula Rego" });
    async function search(): Promise<void> {
      await page.getByRole("searchbox").fill("favourite painter");
      await tested.press(t.episodes.go);
    }
    await search();
    await found.getByRole("link", { name: texts.inspector.jump }).click();
    await page.locator("article.from-user", { hasText: "Paula Rego" }).waitFor();
    await page.goBack();
    await search();
    await tested.press(t.episodes.forget, found);
    await page.getByRole("dialog").getByRole("button", { name: t.episodes.forget }).click();
    await page.locator(".note.success").waitFor();
    await found.waitFor({ state: "detached" });
  });

  test("changes are listed, and the queue of a conversation is shown", async () => {
    await say("I live in Lisbon.");
    const tested = await on.open({ at: "/#/memory/changes" });
    await tested.page.locator(".operation .after", { hasText: "Lisbon" }).first().waitFor();
    await tested.page.getByRole("link", { name: t.tabs.jobs }).click();
    await tested.page.getByText(t.jobs.none).waitFor();
  });

  test("everything is erased only after the id was typed, and the receipt says what it was", async () => {
    const id = await say("I live in Lisbon.");
    const tested = await on.open({ at: `/#/chat/${id}` });
    const { page } = tested;
    await tested.answer.waitFor();
    await page.getByRole("link", { name: texts.views.memory }).click();
    await page.getByRole("link", { name: t.tabs.erase }).click();
    const saving = page.waitForEvent("download");
    await tested.press(t.erase.export);
    const saved = await saving;
    expect(saved.suggestedFilename()).toBe(`${on.user}.jsonl`);
    expect(await readFile(await saved.path(), "utf8")).toContain(on.user);
    const go = page.getByRole("button", { name: t.erase.go });
    expect(await go.isDisabled()).toBe(true);
    await page.getByLabel(t.erase.type(on.user)).fill(on.user.toUpperCase());
    expect(await go.isDisabled()).toBe(true);
    await page.getByLabel(t.erase.type(on.user)).fill(on.user);
    await go.click();
    const receipt = page.locator(".note.success");
    await receipt.waitFor();
    expect((await receipt.innerText()).replace(/\s+/g, " ")).toContain("Messages 2");
    expect(await listConversations(on.url, on.user)).toEqual([]);
    await page.getByRole("link", { name: texts.views.chat }).click();
    await page.getByText(texts.chat.empty).waitFor();
    expect(await page.locator("article").count()).toBe(0);
  });

  test("a JSON file is imported with its progress, and opened", async () => {
    const tested = await on.open();
    const { page } = tested;
    const messages = Array.from({ length: 1_200 }, (_, index) => ({
      role: index % 2 ? "assistant" : "user",
      content: `imported ${index}`,
    }));
    const toFile = (content: unknown) => {
      return { name: "from-elsewhere.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(content)) };
    };
    await tested.press(texts.conversations.import);
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel(texts.import.file).setInputFiles(toFile({ messages: "none" }));
    await tested.press(texts.import.go, dialog);
    await dialog.getByText(texts.import.notMessages).waitFor();
    await dialog.getByLabel(texts.import.file).setInputFiles(toFile(messages));
    await page.evaluate(
      "window.seen = []; new MutationObserver(() => { const bar = document.querySelector('progress'); if (bar) window.seen.push(bar.value); }).observe(document.body, { subtree: true, childList: true, attributes: true })",
    );
    await tested.press(texts.import.go, dialog);
    await dialog.getByText(texts.import.result(1_200, 0)).waitFor();
    expect(await page.evaluate<number>("Math.max(...window.seen)")).toBe(1_200);
    await tested.press(texts.import.open, dialog);
    await page.getByText("imported 1199", { exact: true }).waitFor();
    expect(await page.locator("article").count()).toBe(100);
    await waitUntil("the list names it", () => page.getByRole("link", { name: /imported 0/ }).count());
  });
});
