import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, test } from "@jest/globals";
import type { ServerResponse } from "node:http";
import { streamAnswer } from "../../../models/stream-answer.ts";
import { readJson, startHttpServer } from "../../servers/http-server.ts";
import { PATIENT } from "../../support/services/use-model-server.ts";
import { modelAt } from "../../support/services/model-at.ts";
import { BODIES, FRAMES, llama, openai } from "../server-errors.ts";
import { useOpened } from "../../support/use-opened.ts";

let answer: (response: ServerResponse) => unknown;
const server = useOpened(() => startHttpServer((request, response) => void readJson(request).then(() => answer(response))));

const TOKEN = `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", choices: [{ index: 0, delta: { content: "half" } }] })}\n\n`;

describe("what a model's server says about a failed call", () => {
  const ask = async (message = "Hello!") => {
    const prompt = [new HumanMessage(message)];
    const { error, text } = await streamAnswer({
      model: modelAt(`${server.origin}/v1`),
      prompt,
      timeouts: PATIENT,
      onToken: () => undefined,
    });
    return { code: error?.code, message: error?.message ?? "", words: error?.serverWords ?? "", text };
  };
  const refuse = (status: number, body: object) =>
    (answer = (response) => response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)));

  test.each(BODIES)("is a reason: %s", async (_said, status, body, code) => {
    refuse(status, body);
    expect(await ask()).toMatchObject({ code, text: "" });
  });

  test.each(FRAMES)("is a reason in the middle of an answer: %s", async (_said, body, code) => {
    answer = (response) =>
      response.writeHead(200, { "content-type": "text/event-stream" }).end(`${TOKEN}data: ${JSON.stringify(body)}\n\n`);
    expect(await ask()).toMatchObject({ code, text: "half" });
  });

  test("is quoted when the service does not know what is wrong", async () => {
    refuse(400, llama("Expected 'content' to be a string", "invalid_request_error", 400));
    const { message, words } = await ask();
    expect(words).toBe("Expected 'content' to be a string");
    expect(message).toBe(
      "The chat model's server refused the request with status 400 and says \"Expected 'content' to be a string\". Check OPENAI_BASE_URL and CHAT_MODEL.",
    );
  });

  test("is logged without keys, and cut", async () => {
    refuse(
      401,
      openai(
        `Incorrect key sk-abcdefghij, Bearer abc, org-12345678 and ${"0a".repeat(32)}. ${"Look it up. ".repeat(50)}`,
        "invalid_api_key",
      ),
    );
    const { words } = await ask();
    expect(words).toMatch(/^Incorrect key …, …, … and …\. Look/);
    expect(words).toHaveLength(301);
  });

  test.each([
    [
      "My aunt keeps bees in Sintra",
      "1 validation error: input_value={'content': 'My aunt keeps bees in Sintra'}, type=dict",
      "input_value={'content': '…'}",
    ],
    ["我的姑姑在杭州养蜜蜂", "解析失败：我的姑姑在杭州养蜜蜂。", "解析失败：…。"],
    ["caf\u00e9 \u4f60\u597d", "last read: '\\u4f60\\u597d'", "last read: '…'"],
  ])("is logged without what it quotes of %j", async (said, quoting, logged) => {
    refuse(422, openai(quoting, null));
    const { words } = await ask(said);
    expect(words).toContain(logged);
    for (const word of said.split(" ")) if (word.length > 4) expect(words).not.toContain(word);
  });
});
