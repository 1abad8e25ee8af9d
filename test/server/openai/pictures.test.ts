import { beforeEach, describe, expect, test } from "@jest/globals";
import { listConversations, listMessages } from "../../support/clients/api-client.ts";
import { pngUrl } from "../../support/samples/sample-pictures.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { failureOf, MODEL, openClient, says } from "./open-client.ts";

const shows = (url: string) => ({ type: "image_url" as const, image_url: { url } });
const words = (text: string) => ({ type: "text" as const, text });

describe("pictures from OpenAI's clients", () => {
  const running = useServiceWithModel({ MAX_PICTURES: "2" });
  beforeEach(() => {
    running.model.seen.splice(0);
    running.model.answer({ tokens: ["seen"] });
  });
  const lastContent = (): unknown => running.model.seen.at(-1)?.body.messages.at(-1)?.content;
  const attachmentsOf = async (userId: string) => {
    const [conversation] = await listConversations(running.url, userId);
    const messages = await listMessages(running.url, conversation?.id ?? "");
    return messages.map((message) => ("attachments" in message ? message.attachments : []));
  };

  test("by chat completions reach the model and are listed; those of earlier messages are not taken again", async () => {
    const url = pngUrl(3, 2);
    const { chat } = openClient(running.url);
    const first = { role: "user" as const, content: [words("What is it?"), shows(url)] };
    const answer = await chat.completions.create({ model: MODEL, user: "ada", messages: [first] });
    expect(lastContent()).toEqual([words("What is it?"), shows(url)]);
    const said = { role: "assistant" as const, content: answer.choices[0]?.message.content ?? "" };
    await chat.completions.create({ model: MODEL, user: "ada", messages: [first, said, says("Really?")] });
    expect(lastContent()).toBe("Really?");
    expect(await attachmentsOf("ada")).toEqual([[expect.objectContaining({ media_type: "image/png", width: 3 })], [], [], []]);
  });

  test("without words begin chats of their own", async () => {
    const { chat } = openClient(running.url);
    for (const width of [4, 5])
      await chat.completions.create({ model: MODEL, user: "bob", messages: [{ role: "user", content: [shows(pngUrl(width, 2))] }] });
    expect(await listConversations(running.url, "bob")).toHaveLength(2);
  });

  test("by the Responses API reach the model, with how closely it is to look", async () => {
    const url = pngUrl(6, 2);
    const content = [
      { type: "input_text" as const, text: "What is it?" },
      { type: "input_image" as const, image_url: url, detail: "low" as const },
    ];
    await openClient(running.url).responses.create({ model: MODEL, user: "eve", input: [{ role: "user", content }] });
    expect(lastContent()).toEqual([words("What is it?"), { type: "image_url", image_url: { url, detail: "low" } }]);
  });

  test("of a response that is not stored leave nothing", async () => {
    const content = [{ type: "input_image" as const, image_url: pngUrl(7, 2), detail: "auto" as const }];
    await openClient(running.url).responses.create({ model: MODEL, user: "mallory", store: false, input: [{ role: "user", content }] });
    expect(await listConversations(running.url, "mallory")).toEqual([]);
    const exported = await (await fetch(`${running.url}/api/v1/users/mallory/export`)).text();
    expect(exported).not.toContain('"kind":"pictures"');
  });

  test("that are wrong are told by their place", async () => {
    const { chat, responses } = openClient(running.url);
    const wrong = shows("http://example.org/cat.png");
    const failure = await failureOf(
      chat.completions.create({ model: MODEL, user: "ada", messages: [{ role: "user", content: [words("a"), wrong] }] }),
    );
    expect(failure).toMatchObject({ status: 400, param: "messages.0.content.1.image_url" });
    const input = [{ role: "user" as const, content: [{ type: "input_image" as const, image_url: "ftp://x", detail: "auto" as const }] }];
    expect(await failureOf(responses.create({ model: MODEL, user: "ada", input }))).toMatchObject({
      status: 400,
      param: "input.0.content.0.image_url",
    });
    const many = { role: "user" as const, content: [1, 2, 3].map((width) => shows(pngUrl(width, 1))) };
    const refused = await failureOf(chat.completions.create({ model: MODEL, user: "ada", messages: [many] }));
    expect(refused).toMatchObject({ status: 400, param: "messages.0.content", message: expect.stringContaining("MAX_PICTURES") });
  });

  test("of a chat that was sent whole may be more than 10 MiB", async () => {
    const large = (grey: number) => ({ role: "user" as const, content: [shows(pngUrl(2, 2, { grey, padding: 6 * 1024 * 1024 }))] });
    const messages = [large(1), { role: "assistant" as const, content: "seen" }, large(2), { role: "assistant" as const, content: "seen" }];
    const { chat } = openClient(running.url);
    const answer = await chat.completions.create({ model: MODEL, user: "carol", messages: [...messages, says("And?")] });
    expect(answer.choices[0]?.message.content).toBe("seen");
  });
});

describe("what the model's server refuses of a request", () => {
  const running = useServiceWithModel();
  test("is told to the caller as the caller's, with its name", async () => {
    running.model.answer({
      status: 400,
      error: {
        message: "Unsupported value: 'temperature' does not support 0.2 with this model.",
        param: "temperature",
        code: "unsupported_value",
      },
    });
    const ask = openClient(running.url).chat.completions.create({ model: MODEL, messages: [says("hi")], temperature: 0.2 });
    expect(await failureOf(ask)).toMatchObject({
      status: 400,
      code: "model_parameter_refused",
      message: expect.stringContaining("temperature"),
    });
    const plain = openClient(running.url).chat.completions.create({ model: MODEL, messages: [says("hi again")] });
    expect(await failureOf(plain)).toMatchObject({ status: 422, code: "model_refused" });
  });
});
