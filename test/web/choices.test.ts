import { expect, test } from "@jest/globals";
import { listConversations, listMessages, putJson } from "../support/clients/api-client.ts";
import { waitUntil } from "../support/wait-until.ts";
import { describePage, startModelService, texts, type TestedPage } from "./tested-page.ts";

describePage("what is chosen for a conversation", startModelService, (on) => {
  const chosenOn = async ({ page }: TestedPage): Promise<string> =>
    (await page.locator(".composer-options .chosen").allInnerTexts()).join();
  const shows = (tested: TestedPage, chosen: string) => waitUntil(`"${chosen}" is chosen`, async () => (await chosenOn(tested)) === chosen);

  async function say(tested: TestedPage, message: string): Promise<void> {
    await tested.say(message);
    await tested.settled();
  }

  async function openOptions({ page }: TestedPage) {
    const options = page.locator(".composer-options");
    if ((await options.getAttribute("open")) === null) await options.locator("summary").click();
    return options;
  }

  test("agent and documents belong to it: others begin with none, and it has them again after a reload", async () => {
    expect((await putJson(`${on.url}/api/v1/agents/poet`, { description: "Writes poems" })).status).toBeLessThan(300);
    on.model.answer({ tokens: ["A poem."] });
    const tested = await on.open();
    await say(tested, "Plain talk");
    await tested.press(texts.conversations.fresh);
    const options = await openOptions(tested);
    await options.getByRole("combobox", { name: texts.chat.whoAnswers }).selectOption("poet");
    await options.getByRole("combobox", { name: texts.chat.knowledge }).selectOption("general");
    await shows(tested, `poet · ${texts.chat.none}`);
    await say(tested, "Write of the sea");
    await tested.press(texts.conversations.fresh);
    await shows(tested, "");
    await tested.follow(/Plain talk/);
    await shows(tested, "");
    await tested.follow(/Write of the sea/);
    await shows(tested, `poet · ${texts.chat.none}`);
    await tested.page.reload();
    await shows(tested, `poet · ${texts.chat.none}`);
  });

  test("Temporary begins a conversation of its own, and is told by what is stored, also in another tab and for an edited question", async () => {
    on.model.answer({ tokens: ["Yes."] });
    const tested = await on.open();
    const kept = async (): Promise<unknown[][]> => {
      const talks = await Promise.all((await listConversations(on.url, on.user)).map(({ id }) => listMessages(on.url, id)));
      return talks.map((messages) =>
        messages.filter(({ role }) => role === "user").map(({ content, metadata }) => [content, metadata["remember"]]),
      );
    };
    await say(tested, "Remember this");
    await (await openOptions(tested)).getByLabel(texts.chat.temporary).check();
    await shows(tested, texts.chat.temporary);
    await waitUntil("a fresh thread", async () => (await tested.page.locator("article").count()) === 0);
    await say(tested, "Forget this");
    await tested.follow(/Remember this/);
    await shows(tested, "");
    await say(tested, "And this");
    const [forgotten = [], remembered = []] = await kept();
    expect(forgotten).toEqual([["Forget this", false]]);
    expect(remembered).toEqual([
      ["Remember this", undefined],
      ["And this", undefined],
    ]);

    const other = await on.open();
    await other.follow(/Forget this/);
    await shows(other, texts.chat.temporary);
    const question = other.page.locator("article.from-user").last();
    await other.press(texts.branches.edit, question);
    const field = question.getByRole("textbox", { name: texts.branches.edit });
    await field.fill("Forget that");
    await field.press("Enter");
    await question.getByText("Forget that", { exact: true }).waitFor();
    await other.settled();
    expect((await kept())[0]).toEqual([["Forget that", false]]);
    await (await openOptions(other)).getByLabel(texts.chat.temporary).uncheck();
    await shows(other, "");
    await waitUntil("a fresh thread", async () => (await other.page.locator("article").count()) === 0);
  });
});
