import { expect, test } from "@jest/globals";
import { startModelServer } from "../servers/model-server.ts";
import { freePort } from "../servers/free-port.ts";
import { killServiceProcesses, startServiceProcess } from "../servers/service-process.ts";
import { listConversations, listMessages } from "../support/clients/api-client.ts";
import { createRealDatabase } from "../support/databases/databases.ts";
import { describePage, texts, words } from "./tested-page.ts";

async function startService() {
  const [model, database] = await Promise.all([startModelServer(), createRealDatabase()]);
  const environment = {
    PORT: String(await freePort()),
    DATABASE_URL: database.url,
    OPENAI_BASE_URL: model.url,
    CHAT_MODEL: "test-chat",
    ENABLE_SUMMARY: "false",
    TURN_LEASE_MS: "1000",
  };
  const start = () => startServiceProcess(environment);
  const close = () => Promise.all([killServiceProcesses(), model.close()]).then(() => database.drop());
  return { ...(await start()), start, model, close };
}

describePage("an answer that broke off with its process", startService, (on) => {
  test("is shown as broken off once the service is there again, and a retry leaves one question with one answer", async () => {
    on.model.answer({ tokens: words("w", 3_000), betweenMs: 50 });
    const tested = await on.open({ losesConnection: true });
    await tested.say("Will you hold?");
    await tested.answer.getByText("w5").waitFor();
    on.kill("SIGKILL");
    await tested.answer.getByText(texts.chat.reconnecting).waitFor();
    on.model.answer({ tokens: ["I ", "do."] });
    await on.start();
    const note = tested.answer.locator(".note.error");
    await note.getByText(texts.errors["turn_interrupted"] ?? "").waitFor();
    expect(await tested.answer.locator(".markdown").innerText()).toContain("w5");
    await tested.press(texts.retry, note);
    await tested.answer.getByText("I do.").waitFor();
    await tested.settled();
    const [conversation, ...others] = await listConversations(on.url, on.user);
    expect(others).toEqual([]);
    const messages = await listMessages(on.url, conversation?.id ?? "");
    expect(messages.map(({ role, content, completed }) => [role, content, completed])).toEqual([
      ["user", "Will you hold?", true],
      ["assistant", "I do.", true],
    ]);
    await tested.page.reload();
    await tested.follow(/Will you hold/);
    await tested.answer.getByText("I do.").waitFor();
    expect(await tested.page.locator("article").count()).toBe(2);
  });
});
