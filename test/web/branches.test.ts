import { expect, test } from "@jest/globals";
import { listConversations, postJson } from "../support/clients/api-client.ts";
import { coreMemoryApi } from "../support/services/service-with-core-memory.ts";
import { waitUntil } from "../support/wait-until.ts";
import { findingsOn } from "./findings.ts";
import { describePage, startModelService, startOfflineService, texts, type TestedPage } from "./tested-page.ts";

const t = texts.branches;
const focused = (tested: TestedPage): Promise<string> =>
  tested.page.evaluate<string>("document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.id ?? ''");

function parts({ page }: TestedPage) {
  const question = page.locator("article.from-user").last();
  const panel = page.getByRole("complementary", { name: t.title });
  return {
    question,
    panel,
    field: question.getByRole("textbox", { name: t.edit }),
    branch: (name: RegExp) => panel.getByRole("group", { name }),
  };
}

async function edit(tested: TestedPage, words: string): Promise<void> {
  const { question, field } = parts(tested);
  await tested.press(t.edit, question);
  await field.fill(words);
  await field.press("Enter");
  await question.getByText(words, { exact: true }).waitFor();
  await tested.settled();
}

describePage("on the page with branches,", startOfflineService, (on) => {
  const profile = (): Promise<string> => coreMemoryApi(on.url).contents(on.user).then((sections) => JSON.stringify(sections)); // prettier-ignore

  test("a question is edited and answered again, each version can be shown, and memory follows what is shown", async () => {
    const tested = await on.open();
    const { page, answer } = tested;
    const { question, field } = parts(tested);
    await tested.say("I live in Lisbon.");
    await tested.settled();
    await waitUntil("Lisbon is remembered", async () => (await profile()).includes("Lisbon"));
    await question.getByRole("button", { name: t.edit }).focus();
    await page.keyboard.press("Enter");
    await field.waitFor();
    expect(await field.inputValue()).toBe("I live in Lisbon.");
    await field.fill("never sent");
    expect(await findingsOn(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await question.getByText("I live in Lisbon.").waitFor();
    expect(await focused(tested)).toBe(t.edit);

    await edit(tested, "I live in Porto.");
    await question.getByText("2/2").waitFor();
    expect(await page.locator("article").count()).toBe(2);
    await waitUntil("Porto has taken its place", async () => /^(?!.*Lisbon).*Porto/.test(await profile()));
    await tested.press(t.version(1, 2), question);
    await question.getByText("I live in Lisbon.").waitFor();
    await waitUntil("the way forth has the focus", async () => (await focused(tested)) === t.version(2, 2));
    await waitUntil("Lisbon is back", async () => /^(?!.*Porto).*Lisbon/.test(await profile()));

    await tested.press(t.regenerate, answer);
    await answer.getByText("2/2").waitFor();
    await tested.settled();
    expect(await page.locator("article").count()).toBe(2);
    expect(await findingsOn(page)).toEqual([]);
    await page.reload();
    await question.getByText("1/2").waitFor();
    await answer.getByText("2/2").waitFor();
    await tested.press(t.version(2, 2), question);
    await question.getByText("I live in Porto.").waitFor();
    expect(await answer.getByRole("group", { name: t.versions }).count()).toBe(0);
  });

  test("the tree of branches shows, switches and deletes them, and a snapshot leads back to where it was made", async () => {
    const tested = await on.open();
    const { page } = tested;
    const { question, panel, branch } = parts(tested);
    await tested.say("I like quiet films.");
    await tested.settled();
    await tested.press(t.title, page.locator(".talk-foot"));
    await panel.getByRole("textbox", { name: t.label }).fill("Before the storm");
    await page.keyboard.press("Enter");
    const snapshot = panel.getByRole("region", { name: t.snapshots }).getByRole("listitem").filter({ hasText: "Before the storm" });
    await snapshot.waitFor();
    await edit(tested, "I like loud films.");
    await branch(/^2/).getByText(t.shown).waitFor();
    await tested.say("Tell me more");
    await tested.settled();
    await branch(/^2/).getByText(texts.conversations.messages(4)).waitFor();
    expect(await findingsOn(page)).toEqual([]);

    await tested.press(t.switch, branch(/^1/));
    await question.getByText("I like quiet films.").waitFor();
    await branch(/^1/).getByText(t.shown).waitFor();
    await tested.press(t.erase, branch(/^2/));
    const dialog = page.getByRole("dialog");
    await dialog.getByText(t.eraseExplain(0)).waitFor();
    expect(await findingsOn(page)).toEqual([]);
    await tested.press(t.erase, dialog);
    await branch(/^2/).waitFor({ state: "detached" });

    await tested.say("Something else");
    await tested.settled();
    await tested.press(t.restore, snapshot);
    await branch(/^2.*Before the storm/)
      .getByText(t.shown)
      .waitFor();
    await question.getByText("I like quiet films.").waitFor();
    await tested.press(t.forget, snapshot);
    await snapshot.waitFor({ state: "detached" });
    await page.locator("#content").focus();
    await page.keyboard.press("Escape");
    await panel.waitFor({ state: "detached" });
  });

  test("a conversation is continued in a new one from an answer or from its branches, says where it comes from, and leads back", async () => {
    const tested = await on.open();
    const { page } = tested;
    await tested.say("I like quiet films.");
    await tested.settled();
    await tested.say("Tell me more");
    await tested.settled();
    const origin = page.url();
    const first = page.locator("article.from-assistant").first();
    await first.getByRole("button", { name: t.fork }).focus();
    await page.keyboard.press("Enter");
    const note = page.locator(".thread .forked-from");
    await note.getByRole("link", { name: /quiet films/ }).waitFor();
    expect(await page.locator("article").count()).toBe(2);
    expect(await focused(tested)).toBe(texts.chat.label);
    expect(await findingsOn(page)).toEqual([]);
    await tested.say("Something else");
    await tested.settled();
    expect(await page.locator("article").count()).toBe(4);
    await page.getByRole("img", { name: texts.conversations.forked }).waitFor();
    await note.getByRole("link").click();
    await page.getByText("Tell me more", { exact: true }).waitFor();
    expect(page.url()).toContain(origin);

    await tested.press(t.title, page.locator(".talk-foot"));
    await tested.press(t.fork, parts(tested).panel);
    await note.waitFor();
    expect(await page.locator("article").count()).toBe(4);
    expect((await listConversations(on.url, on.user)).length).toBe(3);
  });
});

describePage("on the page with branches, when something is in the way,", startModelService, (on) => {
  test("a new answer that fails leaves the old one a switch away, and a switch while a turn runs is refused in words", async () => {
    on.model.answer({ tokens: ["The old answer"] });
    const tested = await on.open({ refusals: [409, 503] });
    const { page, answer } = tested;
    const { question } = parts(tested);
    await tested.say("Name a colour");
    await tested.settled();
    on.model.answer({ status: 400 });
    await edit(tested, "Name a dark colour");
    await answer.getByText(texts.chat.failed).waitFor();
    await question.getByText("2/2").waitFor();

    const held = Promise.withResolvers<void>();
    on.model.answer({ tokens: ["Elsewhere"], until: held.promise });
    const [conversation] = await listConversations(on.url, on.user);
    const body = { user_id: on.user, session_id: conversation?.session_id, message: "From elsewhere" };
    const sent = postJson(`${on.url}/api/v1/chat`, body);
    await waitUntil("it is asked", () => JSON.stringify(on.model.seen.at(-1)?.body.messages.at(-1)).includes("From elsewhere"));
    await tested.press(t.version(1, 2), question);
    await question.getByText(texts.errors["conversation_busy"] ?? "").waitFor();
    held.resolve();
    expect((await sent).status).toBe(200);
    await tested.press(t.version(1, 2), question);
    await question.getByText("Name a colour", { exact: true }).waitFor();
    await answer.getByText("The old answer").waitFor();
    expect(await page.locator("article").count()).toBe(2);

    on.model.answer({ status: 400 });
    await tested.press(t.regenerate, answer);
    await answer.getByText(texts.chat.failed).waitFor();
    await page.reload();
    await tested.press(t.earlierAnswer, question);
    await answer.getByText("The old answer").waitFor();
    expect(await findingsOn(page)).toEqual([]);
  });
});
