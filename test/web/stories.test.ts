import { expect, test } from "@jest/globals";
import { startModelServer } from "../servers/model-server.ts";
import { freePort } from "../servers/free-port.ts";
import { killServiceProcesses, startServiceProcess } from "../servers/service-process.ts";
import { listConversations, listMessages } from "../support/clients/api-client.ts";
import { makeKnowledgeClient } from "../support/clients/knowledge-client.ts";
import { createRealDatabase } from "../support/databases/databases.ts";
import { coreMemoryApi } from "../support/services/service-with-core-memory.ts";
import { conversationApi } from "../support/services/service-with-episodes.ts";
import { waitUntil } from "../support/wait-until.ts";
import { describePage, texts, words } from "./tested-page.ts";

/** A service that is killed and started again at the same address, with the same database. */
async function startRestartable(environment: Record<string, string>) {
  const database = await createRealDatabase();
  const layers = { ENABLE_EPISODIC_MEMORY: "true", ENABLE_CORE_MEMORY: "true", MEMORY_READ_TIMEOUT_MS: "10000" };
  const all = { PORT: String(await freePort()), DATABASE_URL: database.url, TURN_LEASE_MS: "1000", ...layers, ...environment };
  let service = await startServiceProcess(all);
  return {
    url: service.url,
    async restart(): Promise<void> {
      service.kill("SIGKILL");
      await service.exited;
      service = await startServiceProcess(all);
    },
    close: () => killServiceProcesses().then(database.drop),
  };
}

async function startWithModel() {
  const port = await freePort();
  let model = await startModelServer({ port });
  const service = await startRestartable({ OPENAI_BASE_URL: model.url, CHAT_MODEL: "test-chat", ENABLE_SUMMARY: "false" });
  return {
    ...service,
    answer: (given: Parameters<typeof model.answer>[0]) => model.answer(given),
    leave: () => model.close(),
    async comeBack(): Promise<void> {
      model = await startModelServer({ port });
    },
    close: () => service.close().then(() => model.close()),
  };
}

const PATIENCE = 240_000;

describePage(
  "without a model, a person, through a restart in the middle, can",
  () => startRestartable({}),
  (on) => {
    test(
      "talk, see a used memory, correct it, and erase everything",
      async () => {
        const tested = await on.open({ losesConnection: true });
        const { page, answer } = tested;
        await tested.say("I live in Lisbon.");
        await tested.settled();
        const sections = () => coreMemoryApi(on.url).contents(on.user);
        await waitUntil("Lisbon is remembered", async () => JSON.stringify(await sections()).includes("Lisbon"));
        await tested.say("Where do I live?");
        await tested.settled();
        await answer.getByText("Lisbon").first().waitFor();
        await on.restart();
        await tested.press(texts.chat.inspect, answer);
        await page
          .getByRole("complementary", { name: texts.inspector.title })
          .getByText(/Lisbon/)
          .first()
          .waitFor();
        await page.getByRole("link", { name: texts.views.memory }).click();
        const profile = page.locator("[data-section=profile]");
        await tested.press(texts.memory.core.edit, profile);
        await profile.getByLabel(texts.memory.core.label("Profile")).fill("Lives in Porto.");
        await tested.press(texts.memory.core.save, profile);
        await waitUntil("the correction is kept", async () => (await sections())["profile"] === "Lives in Porto.");
        await page.getByRole("link", { name: texts.views.chat }).click();
        await tested.say("In which town do I live?");
        await tested.settled();
        await answer.getByText("Porto").first().waitFor();
        await page.getByRole("link", { name: texts.views.memory }).click();
        await page.getByRole("link", { name: texts.memory.tabs.erase }).click();
        await page.getByLabel(texts.memory.erase.type(on.user)).fill(on.user);
        await tested.press(texts.memory.erase.go);
        await page.locator(".note.success").waitFor();
        expect(await sections()).toEqual({});
        expect(await listConversations(on.url, on.user)).toEqual([]);
      },
      PATIENCE,
    );

    test(
      "upload a document, ask about it, and open the cited passage",
      async () => {
        await makeKnowledgeClient(on.url).put("ferries", { description: "Ferries", keywords: ["ferry"] });
        const tested = await on.open({ losesConnection: true, at: "/#/documents/ferries" });
        const { page } = tested;
        const buffer = Buffer.from("# Ferries\n\nThe ferry to the island leaves at noon.");
        await page.getByLabel(texts.documents.drop).setInputFiles({ name: "ferries.md", mimeType: "", buffer });
        const document = page.locator("[data-document='ferries.md']");
        await document.waitFor();
        await on.restart();
        await makeKnowledgeClient(on.url).settled("ferries");
        await document.getByText(texts.documents.states.indexed).waitFor();
        await page.getByRole("link", { name: texts.views.chat }).click();
        await tested.say("When does the ferry leave?");
        await tested.settled();
        await tested.answer.locator("button.cite").first().click();
        await page.locator(".cited blockquote", { hasText: "leaves at noon" }).waitFor();
      },
      PATIENCE,
    );
  },
);

describePage("with a model, through a restart in the middle,", startWithModel, (on) => {
  test(
    "an answer fails while the model is away, and the same message is answered when the model is back",
    async () => {
      on.answer({ tokens: ["First."] });
      const tested = await on.open({ losesConnection: true, refusals: [502, 503] });
      const { page, answer } = tested;
      await tested.say("Are you there?");
      await answer.getByText("First.").waitFor();
      await tested.settled();
      await on.leave();
      await tested.say("And now?");
      await answer.getByText(texts.chat.failed).waitFor();
      await on.restart();
      await on.comeBack();
      on.answer({ tokens: ["Back again."] });
      await page.reload();
      await tested.press(texts.retry, answer.locator(".note.error"));
      await answer.getByText("Back again.").waitFor();
      await tested.settled();
      const [conversation] = await listConversations(on.url, on.user);
      const messages = await listMessages(on.url, conversation?.id ?? "");
      expect(messages.map(({ content }) => content)).toEqual(["Are you there?", "First.", "And now?", "Back again."]);
    },
    PATIENCE,
  );

  test(
    "two tabs show one conversation, and each follows what the other asks",
    async () => {
      on.answer({ tokens: words("w", 40), betweenMs: 50 });
      const first = await on.open({ losesConnection: true });
      await first.say("Asked in the first tab");
      await first.answer.getByText("w3").waitFor();
      const second = await on.open({ losesConnection: true });
      await second.follow(/first tab/);
      await Promise.all([first, second].map(({ answer }) => answer.getByText("w39").waitFor()));
      await Promise.all([first.settled(), second.settled()]);
      await on.restart();
      on.answer({ tokens: ["Once."] });
      await second.say("Asked in the second tab");
      await second.answer.getByText("Once.").waitFor();
      await second.settled();
      await first.page.reload();
      await first.answer.getByText("Once.").waitFor();
      for (const { page } of [first, second]) expect(await page.locator("article").count()).toBe(4);
    },
    PATIENCE,
  );

  test(
    "a conversation of 4,000 messages opens at its end, goes back to its beginning, and goes on",
    async () => {
      const messages = Array.from({ length: 4_000 }, (_, index) => ({
        role: index % 2 ? "assistant" : "user",
        content: `number ${index}`,
      }));
      const { conversation_id: id } = await conversationApi(on.url).bring(on.user, messages, "long");
      const tested = await on.open({ losesConnection: true, at: `/#/chat/${id}` });
      const { page, answer } = tested;
      await page.getByText("number 3999", { exact: true }).waitFor();
      await on.restart();
      await tested.press(texts.chat.earlier);
      await page.getByText("number 3800", { exact: true }).waitFor();
      const [oldest] = await listMessages(on.url, id);
      await page.evaluate(`location.hash = "#/chat/${id}/${oldest?.id ?? ""}"`);
      await page.locator(`#message-${oldest?.id ?? ""}`).waitFor();
      expect(await page.locator("article").count()).toBe(4_000);
      on.answer({ tokens: ["Still here."] });
      await tested.say("Are you still there?");
      await answer.getByText("Still here.").waitFor();
      await tested.settled();
    },
    PATIENCE,
  );
});
