import { beforeEach, describe, expect, test } from "@jest/globals";
import { isToolUIPart, readUIMessageStream } from "ai";
import { callApi, listConversations, messagesOf, putJson } from "../../support/clients/api-client.ts";
import { makeUiChat, said, textOf, transportTo } from "../../support/clients/ui-chat.ts";
import { askingClient, callOf, ORDER_TOOLS, ordered } from "../../support/services/asking-agent.ts";
import { pngUrl } from "../../support/samples/sample-pictures.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { useTestService } from "../../support/services/service.ts";
import { waitUntil } from "../../support/wait-until.ts";

const opened = useServiceWithModel({}, { extras: { tools: ORDER_TOOLS } });
let asking: ReturnType<typeof askingClient>;
beforeEach(async () => {
  asking = askingClient(opened);
  ordered.length = 0;
  opened.model.answer({ tokens: ["Hi ", "there."] });
  await asking.makeAgent("asks");
});

const makeChat = (body: object = {}) => makeUiChat(opened.url, body);

describe("a chat of the AI SDK", () => {
  test("shows the stored answer, and goes on with the service's own history", async () => {
    const chat = makeChat();
    const answer = await chat.say("My boat is Argo.");
    expect(textOf(answer)).toBe("Hi there.");
    expect(answer.parts.map(({ type }) => type)).toEqual(["step-start", "text", "data-receipt"]);
    const stored = await messagesOf(opened.url, "ada", chat.chatId);
    expect(stored.map(({ content }) => content)).toEqual(["My boat is Argo.", "Hi there."]);
    expect(stored[1]?.id).toBe(answer.id);
    expect(answer.metadata).toMatchObject({ message_id: answer.id, usage: { total_tokens: 102 } });
    chat.messages.splice(0);
    await chat.say("What is my boat called?");
    expect(
      opened.model.seen
        .at(-1)
        ?.body.messages.map(({ content }) => content)
        .join("\n"),
    ).toContain("My boat is Argo.");
  });

  test("shows the model's reasoning, and an agent's calls as tools with their outputs", async () => {
    await asking.makeAgent("looks", { permissions: [{ tool: "look_up", action: "allow" }] });
    asking.follow([callOf("look_up", { item: "tea" })], "Twelve.");
    const answer = await makeChat({ agent: "looks" }).say("How much tea?");
    expect(answer.parts.find(isToolUIPart)).toMatchObject({
      toolName: "look_up",
      input: { item: "tea" },
      state: "output-available",
      output: "12 left",
    });
    expect(textOf(answer)).toBe("Twelve.");
    opened.model.answer({ thoughts: ["Let me ", "think."], tokens: ["Done."] });
    const thought = await makeChat().say("Think.");
    expect(thought.parts.filter(({ type }) => type === "reasoning" || type === "text")).toMatchObject([
      { text: "Let me think." },
      { text: "Done." },
    ]);
  });

  test.each<[boolean, string, string]>([
    [true, "output-available", "Ordered."],
    [false, "output-error", "Then not."],
  ])("asks a person to approve a call, and goes on with the answer (approved: %s)", async (approved, state, words) => {
    asking.follow([callOf("order", { item: "tea" })], words);
    const chat = makeChat({ agent: "asks" });
    const asked = await chat.say("Order tea.");
    const tool = asked.parts.find(isToolUIPart);
    expect(tool).toMatchObject({ toolName: "order", state: "approval-requested", approval: { id: expect.any(String) as unknown } });
    const parts = asked.parts.map((part) =>
      isToolUIPart(part) && part.state === "approval-requested"
        ? { ...part, state: "approval-responded" as const, approval: { ...part.approval, approved } }
        : part,
    );
    chat.messages.splice(-1, 1, { ...asked, parts });
    const answer = await chat.send();
    expect(answer.id).toBe(asked.id);
    expect(answer.parts.filter(isToolUIPart)).toMatchObject([{ toolName: "order", state }]);
    expect(textOf(answer)).toContain(words);
    expect(ordered).toHaveLength(approved ? 1 : 0);
  });

  test("shows an error as an error, and refuses a wrong request with the name of the field", async () => {
    opened.model.answer({ status: 500 });
    await expect(makeChat().say("Hello")).rejects.toThrow(/model_unavailable/);
    await expect(makeChat({ agent: "nobody" }).say("Hello")).rejects.toThrow(/there is no agent/);
    const chat = makeChat();
    for (const mediaType of ["image/png", "application/pdf"]) {
      chat.messages.splice(0, 1, { id: "f", role: "user", parts: [{ type: "file", mediaType, url: "data:image/png;base64,AAAA" }] });
      await expect(chat.send()).rejects.toThrow(/messages\.0\.parts\.0/);
    }
    const empty = makeChat();
    empty.messages.push(said("Hello"));
    await expect(empty.send("regenerate-message")).rejects.toThrow(/messageId/);
  });

  test("takes pictures with or without words, and shows them to the model again when it repeats the answer", async () => {
    const picture = (width: number) => ({ type: "file" as const, mediaType: "image/png", filename: "a.png", url: pngUrl(width, 3) });
    const seen = () => JSON.stringify(opened.model.seen.at(-1)?.body.messages.at(-1)?.content);
    const chat = makeChat();
    chat.messages.push({ ...said("What is this?"), parts: [picture(4), { type: "text", text: "What is this?" }] });
    await chat.send();
    expect(seen()).toContain(pngUrl(4, 3));
    await chat.regenerate();
    expect(seen()).toContain(pngUrl(4, 3));
    chat.messages.push({ ...said("alone"), parts: [picture(5)] });
    await chat.send();
    expect(seen()).toContain(pngUrl(5, 3));
    const stored = await messagesOf(opened.url, "ada", chat.chatId);
    expect(stored.map(({ content, attachments = [] }) => [content, attachments.length])).toEqual([
      ["What is this?", 1],
      ["Hi there.", 0],
      ["", 1],
      ["Hi there.", 0],
    ]);
  });

  test("is taken although its pictures together are larger than an ordinary body may be", async () => {
    const chat = makeChat();
    const url = pngUrl(6, 3, { padding: 2_000_000 });
    chat.messages.push({
      ...said("Look."),
      parts: [
        { type: "file", mediaType: "image/png", url },
        { type: "text", text: "Look." },
      ],
    });
    expect(textOf(await chat.send())).toBe("Hi there.");
  });

  const wordsIn = async ({ chatId }: { chatId: string }) => (await messagesOf(opened.url, "ada", chatId)).map(({ content }) => content);
  const says = (text: string) => opened.model.answer({ tokens: [text] });

  test("repeats its newest answer or an earlier one, each on a branch of its own", async () => {
    const chat = makeChat();
    says("One.");
    const first = await chat.say("Say a number.");
    says("Two.");
    await chat.say("And another.");
    says("Three.");
    const again = await chat.regenerate();
    expect([textOf(again), await wordsIn(chat)]).toEqual(["Three.", ["Say a number.", "One.", "And another.", "Three."]]);
    says("Four.");
    expect(textOf(await chat.regenerate(first.id))).toBe("Four.");
    expect(await wordsIn(chat)).toEqual(["Say a number.", "Four."]);
    says("Five.");
    await chat.regenerate(chat.messages[0]?.id);
    expect(await wordsIn(chat)).toEqual(["Say a number.", "Five."]);
  });

  test("replaces an earlier message, which the client names by its own id", async () => {
    const chat = makeChat();
    says("One.");
    await chat.say("first");
    await chat.say("second");
    await chat.say("third");
    says("Changed.");
    await chat.edit(2, "二");
    expect(await wordsIn(chat)).toEqual(["first", "One.", "二", "Changed."]);
    await chat.edit(0, "anew");
    expect(await wordsIn(chat)).toEqual(["anew", "Changed."]);
  });

  test("asks an unanswered message again without a second copy of the question", async () => {
    opened.model.answer({ status: 500 });
    const chat = makeChat();
    await expect(chat.say("Hello")).rejects.toThrow(/model_unavailable/);
    says("Here I am.");
    expect(textOf(await chat.regenerate(chat.messages.at(-1)?.id))).toBe("Here I am.");
    expect(await wordsIn(chat)).toEqual(["Hello", "Here I am."]);
  });

  test("stops when its client leaves, and keeps the half answer as incomplete", async () => {
    opened.model.answer({ tokens: ["half "], ending: "hang" });
    const chat = makeChat();
    const leaving = new AbortController();
    chat.messages.push(said("Hello"));
    const stream = await chat.transport.sendMessages({
      chatId: chat.chatId,
      messages: chat.messages,
      trigger: "submit-message",
      messageId: undefined,
      abortSignal: leaving.signal,
    });
    await expect(
      (async () => {
        for await (const message of readUIMessageStream({ stream })) if (textOf(message) === "half ") leaving.abort();
      })(),
    ).resolves.toBeUndefined();
    await waitUntil("the part is stored", async () => (await messagesOf(opened.url, "ada", chat.chatId)).length === 2);
    expect((await messagesOf(opened.url, "ada", chat.chatId))[1]).toMatchObject({ content: "half ", completed: false });
  });

  test("is resumed from its beginning while its turn runs, and has nothing to resume after the end", async () => {
    opened.model.answer({ tokens: ["half "], ending: "hang" });
    const chat = makeChat({ on_disconnect: "continue" });
    chat.messages.push(said("Hello"));
    const leaving = new AbortController();
    const sent = { chatId: chat.chatId, messages: chat.messages, trigger: "submit-message" as const, messageId: undefined };
    const stream = await chat.transport.sendMessages({ ...sent, abortSignal: leaving.signal });
    for await (const message of readUIMessageStream({ stream })) {
      if (textOf(message) !== "half ") continue;
      leaving.abort();
      break;
    }
    const again = await transportTo(opened.url, {}, { "x-user-id": "ada" }).reconnectToStream({ chatId: chat.chatId });
    if (!again) throw new Error("there was nothing to resume");
    let turnId = "";
    for await (const message of readUIMessageStream({ stream: again })) {
      turnId = message.id;
      if (textOf(message) === "half ") break;
    }
    await callApi(`${opened.url}/api/v1/turns/${turnId}/cancel`, { method: "POST" });
    const gone = async () =>
      (await transportTo(opened.url, {}, { "x-user-id": "ada" }).reconnectToStream({ chatId: chat.chatId })) === null;
    await waitUntil("the turn has ended", gone);
  });
});

describe("chats of several tenants", () => {
  const service = useTestService({ API_KEYS: "key-of-acme:acme,key-of-globex:globex" });

  test("are different conversations although they have the same id", async () => {
    for (const tenant of ["acme", "globex"]) {
      const headers = { authorization: `Bearer key-of-${tenant}` };
      const stream = await transportTo(service.url, { user_id: "ada" }, headers).sendMessages({
        chatId: "same",
        messages: [said(`I am of ${tenant}.`)],
        trigger: "submit-message",
        messageId: undefined,
        abortSignal: undefined,
      });
      for await (const message of readUIMessageStream({ stream })) expect(message.role).toBe("assistant");
      const [conversation] = await listConversations(service.url, "ada", headers);
      expect(conversation).toMatchObject({ session_id: "same", message_count: 2, first_message: `I am of ${tenant}.` });
    }
    expect((await putJson(`${service.url}/api/v1/chat/ui-messages`, {})).status).toBe(401);
  });
});
