import type { ChatCompletionCreateParamsNonStreaming, ChatCompletionMessageParam } from "openai/resources/chat/completions";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { callApi, listConversations } from "../../../support/clients/api-client.ts";
import { pngUrl } from "../../../support/samples/sample-pictures.ts";
import { openServiceWithModel, useServiceWithModel } from "../../../support/services/service-with-model.ts";
import { failureOf, MODEL, openClient, says } from "../open-client.ts";

const parameters = { type: "object", properties: { place: { type: "string" } } };
const TOOLS = [{ type: "function" as const, function: { name: "camera", description: "Takes a picture", parameters } }];
const ASKED = says("What is on the roof?");

describe("results of the caller's tools", () => {
  const running = useServiceWithModel();
  let session = 0;
  beforeEach(() => {
    session++;
    running.model.seen.splice(0);
  });

  const create = (fields: object) =>
    openClient(running.url, { headers: { "X-Session-Id": `results-${session}` } }).chat.completions.create({
      ...{ model: MODEL, user: "ada", messages: [ASKED], tools: TOOLS, ...fields },
    } as ChatCompletionCreateParamsNonStreaming);
  const result = (id: string, content: unknown) => ({ role: "tool", tool_call_id: id, content }) as ChatCompletionMessageParam;
  const sent = () => running.model.seen.at(-1)?.body.messages ?? [];

  /** The first answer calls these; the others are words. */
  async function called(...ids: string[]): Promise<ChatCompletionMessageParam[]> {
    let isFirst = true;
    running.model.answer(() => {
      const toolCalls = ids.map((id) => ({ name: "camera", id, arguments: { place: "roof" } }));
      const answer = isFirst ? { toolCalls } : { tokens: ["A cat."] };
      isFirst = false;
      return answer;
    });
    const { choices } = await create({});
    return [ASKED, choices[0]?.message as ChatCompletionMessageParam];
  }

  test("may have pictures, which the model sees after the results and later turns read as a placeholder", async () => {
    const history = await called("p1");
    const shown = { type: "image_url", image_url: { url: pngUrl(4, 3) } };
    const answer = await create({ messages: [...history, result("p1", [{ type: "text", text: '{"at": "noon"}' }, shown])] });
    expect(answer.choices[0]?.message.content).toBe("A cat.");
    const [output, , pictures] = sent().slice(-3);
    expect(output).toMatchObject({ role: "tool", content: expect.stringMatching(/\{"at": "noon"\}\n.*\[picture 图片\]/) as unknown });
    expect(pictures).toMatchObject({ role: "user", content: [{ type: "text" }, shown] });
    await create({ messages: [says("And now?")] });
    expect(JSON.stringify(sent())).toContain("[picture 图片]");
    expect(JSON.stringify(sent())).not.toContain("image_url");
  });

  test("may have pictures in the Responses API, too", async () => {
    await called("p2");
    const image = { type: "input_image" as const, image_url: pngUrl(5, 3), detail: "auto" as const };
    const output = { type: "function_call_output" as const, call_id: "p2", output: [image] };
    await openClient(running.url).responses.create({ model: MODEL, user: "ada", input: [output] });
    expect(sent().at(-1)).toMatchObject({ content: [{ type: "text" }, { image_url: { url: image.image_url } }] });
  });

  test("with a wrong picture are refused with its place, and the turn still waits for right ones", async () => {
    const history = await called("p3");
    const wrong = await failureOf(
      create({ messages: [...history, result("p3", [{ type: "image_url", image_url: { url: "http://example.org/cat.png" } }])] }),
    );
    expect(wrong).toMatchObject({ status: 400, param: "messages.2.content.0.image_url" });
    expect((await create({ messages: [...history, result("p3", "a cat")] })).choices[0]?.message.content).toBe("A cat.");
  });

  test("that come with a new message are kept, and the message is a turn of its own", async () => {
    const history = await called("k1", "k2");
    const next = await create({ messages: [...history, result("k1", "a tabby cat"), says("What does it eat?")] });
    expect(next.choices[0]?.message.content).toBe("A cat.");
    const [roof, , said, , question] = sent().slice(-5);
    expect([roof?.role, said?.role, question]).toMatchObject(["user", "tool", { role: "user", content: "What does it eat?" }]);
    expect(JSON.stringify(sent())).toContain("a tabby cat");
    const { json } = await callApi<{ questions: unknown[] }>(`${running.url}/api/v1/questions?user_id=ada`);
    expect(json.questions).toEqual([]);
    expect((await listConversations(running.url, "ada")).filter(({ session_id: id }) => id === `results-${session}`)).toHaveLength(1);
  });
});

test("a model whose server takes no pictures is told that the pictures of results are left out", async () => {
  const { model, url, close } = await openServiceWithModel();
  try {
    const ask = (messages: object[]) =>
      openClient(url, { headers: { "X-Session-Id": "blind" } }).chat.completions.create({
        ...{ model: MODEL, user: "ada", messages, tools: TOOLS },
      } as ChatCompletionCreateParamsNonStreaming);
    for (const [id, words] of [
      ["b1", /Where none is shown here, it was left out/],
      ["b2", /left out, since this model cannot see/],
    ] as const) {
      let isFirst = true;
      model.answer(({ messages }) => {
        if (JSON.stringify(messages).includes("image_url")) return { status: 500, error: { message: "image input is not supported" } };
        if (!isFirst) return { tokens: ["No idea."] };
        isFirst = false;
        return { toolCalls: [{ name: "camera", id, arguments: {} }] };
      });
      const first = await ask([ASKED]);
      const shown = { type: "image_url", image_url: { url: pngUrl(6, 3) } };
      const answer = await ask([ASKED, first.choices[0]?.message ?? {}, { role: "tool", tool_call_id: id, content: [shown] }]);
      expect(answer.choices[0]?.message.content).toBe("No idea.");
      expect(model.seen.at(-1)?.body.messages.at(-1)?.content).toMatch(words);
    }
  } finally {
    await close();
  }
});
