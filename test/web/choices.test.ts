import { expect, test } from "@jest/globals";
import { listConversations, listMessages, putJson } from "../support/clients/api-client.ts";
import { contentOf, postTurn } from "../support/clients/event-client.ts";
import { waitUntil } from "../support/wait-until.ts";
import { describePage, startModelService, texts, type TestedPage } from "./tested-page.ts";

describePage("on the page with its options,", startModelService, (on) => {
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

  test("agent and documents belong to one conversation, so that others begin with none and a reload keeps them", async () => {
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
    await (await openOptions(tested)).getByRole("combobox", { name: texts.chat.whoAnswers }).selectOption("");
    await shows(tested, texts.chat.none);
    await tested.follow(/Plain talk/);
    await shows(tested, "");
    await tested.follow(/Write of the sea/);
    await shows(tested, texts.chat.none);

    const elsewhere = await on.open();
    await elsewhere.follow(/Write of the sea/);
    await shows(elsewhere, `poet · ${texts.chat.none}`);
  });

  test("the choices of the newest turn are shown in every browser, even of a program's turn, a failed one or a repeated answer", async () => {
    expect((await putJson(`${on.url}/api/v1/agents/poet`, { description: "Writes poems" })).status).toBeLessThan(300);
    on.model.answer({ tokens: ["A poem."] });
    const sent = { user_id: on.user, session_id: "elsewhere" };
    const { events } = await postTurn(on.url, { ...sent, message: "First", agent: "poet", agent_type: "chat_agent" });
    const { conversation_id: id, message_id: first } = contentOf(events, "done");
    const at = `/#/chat/${id}`;
    const tested = await on.open({ at });
    await shows(tested, `poet · ${texts.chat.agents.chat_agent}`);
    await (await openOptions(tested)).getByRole("combobox", { name: texts.chat.whoAnswers }).selectOption("");
    await (await openOptions(tested)).getByRole("combobox", { name: texts.chat.knowledge }).selectOption("general");
    await tested.press(texts.branches.regenerate, tested.answer);
    await waitUntil("it is answered again", async () => (await listMessages(on.url, id)).at(-1)?.id !== first);
    await tested.settled();
    await shows(await on.open({ at }), `${texts.chat.none} · ${texts.chat.agents.chat_agent}`);
    on.model.answer({ status: 400 });
    await postTurn(on.url, { ...sent, message: "Second", agent: "poet" });
    await shows(await on.open({ at }), "poet");
  });

  const listedBy = ({ page }: TestedPage): Promise<string[]> => page.locator(".conversations .conversation-title").allInnerTexts();
  const isErased = () => waitUntil("only one is stored", async () => (await listConversations(on.url, on.user)).length === 1);
  const beginTemporary = async (tested: TestedPage): Promise<void> => {
    await (await openOptions(tested)).getByLabel(texts.chat.temporary).check();
    await shows(tested, texts.chat.temporary);
  };

  test("Temporary begins a conversation of its own, which stands in no list and is erased when another is shown", async () => {
    on.model.answer({ tokens: ["Yes."] });
    const tested = await on.open({ refusals: [503] }); // a search for messages needs an index
    await say(tested, "Remember this");
    await beginTemporary(tested);
    await waitUntil("a fresh thread", async () => (await tested.page.locator("article").count()) === 0);
    await say(tested, "Forget this");
    await say(tested, "And this");
    const [temporary] = await listConversations(on.url, on.user);
    const asked = (await listMessages(on.url, temporary?.id ?? "")).filter(({ role }) => role === "user");
    expect(asked.map(({ content, metadata }) => [content, metadata["remember"]])).toEqual([
      ["Forget this", false],
      ["And this", false],
    ]);
    await tested.page.evaluate("dispatchEvent(new Event('focus'))");
    const other = await on.open({ at: `/#/chat/${temporary?.id}` });
    await shows(other, texts.chat.temporary);
    await other.page.getByText(texts.chat.notRemembered).first().waitFor();
    for (const one of [tested, other]) expect(await listedBy(one)).toEqual(["Remember this"]);
    const search = tested.page.getByLabel(texts.conversations.search);
    await search.fill("this");
    await tested.page.getByText(texts.conversations.noSearch).waitFor();
    expect(await listedBy(tested)).toEqual(["Remember this"]);
    await search.fill("");

    await tested.follow(/Remember this/);
    await shows(tested, "");
    await isErased();
    await say(tested, "Remember this, too");
    const [kept] = await listConversations(on.url, on.user);
    expect((await listMessages(on.url, kept?.id ?? "")).map(({ metadata }) => metadata["remember"])).toEqual(Array(4).fill(undefined));
    await tested.press(texts.conversations.fresh);
    await shows(tested, "");
  });

  test("a temporary conversation is erased when it is left during an answer, by Temporary itself, and with the page", async () => {
    const tested = await on.open({ refusals: [404] }); // what is still being read of it may be gone
    on.model.answer({ tokens: ["Yes."] });
    await say(tested, "Remember this");
    await beginTemporary(tested);
    on.model.answer({ tokens: ["No "], ending: "hang" });
    await tested.say("Left at once");
    await tested.answer.getByText("No").waitFor();
    await tested.follow(/Remember this/);
    await isErased();
    on.model.answer({ tokens: ["Yes."] });
    await tested.press(texts.conversations.fresh);
    await shows(tested, "");

    await beginTemporary(tested);
    await say(tested, "Switched off");
    await (await openOptions(tested)).getByLabel(texts.chat.temporary).uncheck();
    await shows(tested, "");
    await isErased();

    await beginTemporary(tested);
    await say(tested, "Left with the page");
    await waitUntil("it has an address", async () => /#\/chat\/./.test(tested.page.url()));
    await tested.page.reload();
    await isErased();
    await tested.page.getByText(texts.chat.empty).waitFor();
    await shows(tested, "");
    expect(await tested.page.locator(".error").count()).toBe(0);
    expect(await listedBy(tested)).toEqual(["Remember this"]);
  });
});
