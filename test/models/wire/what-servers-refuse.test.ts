import { describe, expect, test } from "@jest/globals";
import { readFileSync } from "node:fs";
import { findAmendment, findBatch } from "../../../models/wire/amendments.ts";
import { ServerFailure } from "../../../models/wire/server-failure.ts";
import type { WireMessage } from "../../../models/wire/wire-message.ts";
import { HumanMessage } from "@langchain/core/messages";
import type { ServerResponse } from "node:http";
import { streamAnswer } from "../../../models/stream-answer.ts";
import { readJson, startHttpServer } from "../../servers/http-server.ts";
import { PATIENT } from "../../support/services/use-model-server.ts";
import { modelAt } from "../../support/services/model-at.ts";
import { BODIES, FRAMES, llama, openai } from "../server-errors.ts";
import { useOpened } from "../../support/use-opened.ts";

interface Refusal {
  server: string;
  status: number;
  body: unknown;
  amendment: string;
  source: string;
}
/** Words that servers were seen to refuse requests with, each with its source in public. */
const REFUSALS = JSON.parse(readFileSync(new URL("parameter-refusals.json", import.meta.url), "utf8")) as Refusal[];
const call = (id: string, more = {}) => ({ id, type: "function" as const, function: { name: "map", arguments: "{}" }, ...more });
/** A request that has everything that some server refuses. */
function requestFor(amendment: string) {
  const echo = amendment === "calls_in_words" ? {} : { reasoning_content: "I look." };
  const role = amendment === "no_developer" ? ("developer" as const) : ("system" as const);
  const messages: WireMessage[] = [
    { role, content: "Be brief." },
    { role: "user", content: "Where?" },
    { role: "assistant", content: null, tool_calls: [call("call_of_a_server_of_ours"), call("another")], ...echo },
    { role: "tool", tool_call_id: "call_of_a_server_of_ours", name: "map", content: "Here." },
    { role: "tool", tool_call_id: "another", name: "map", content: "There." },
    ...(amendment === "user_last" ? [{ role: "assistant" as const, content: "It is" }] : []),
  ];
  const bound = amendment === "max_tokens" ? { max_completion_tokens: 9 } : { max_tokens: 9 };
  const sampling = { stream_options: { include_usage: true }, temperature: 0, top_p: 1, parallel_tool_calls: true };
  const forms = { tool_choice: "required", response_format: { type: "json_schema" } };
  const body = { model: "m", messages, ...bound, ...sampling, ...forms };
  const embedding = { model: "e", input: Array.from({ length: 200 }, String), encoding_format: "float", dimensions: 256 };
  const isEmbedding = ["no_encoding_format", "no_dimensions", "batch"].includes(amendment);
  const url = new URL(`http://model.test/v1/${isEmbedding ? "embeddings" : "chat/completions"}`);
  return { body: isEmbedding ? embedding : body, url, asked: new Set<string>() };
}
const asBody = (body: unknown): unknown => (typeof body === "string" ? { error: { message: body } } : body);
const failureOf = ({ status, body }: Pick<Refusal, "status" | "body">) => new ServerFailure({ status, body: asBody(body) });
describe("what servers say in public leads to", () => {
  const rows = REFUSALS.map(({ server, ...refusal }) => [server, refusal] as const);

  test.each(rows.filter(([, { amendment }]) => amendment !== "batch" && amendment !== "none"))(
    "the amendment that helps: %s",
    (_, refusal) => {
      expect(findAmendment(failureOf(refusal), requestFor(refusal.amendment))).toBe(refusal.amendment);
    },
  );

  test.each(rows.filter(([, { amendment }]) => amendment === "none"))("no amendment where none helps: %s", (_, refusal) => {
    expect(findAmendment(failureOf(refusal), requestFor("none"))).toBeNull();
  });

  test.each(rows.filter(([, { amendment }]) => amendment === "batch"))("a smaller batch: %s", (_, refusal) => {
    const batch = findBatch(failureOf(refusal), 200);
    expect(batch).toBeGreaterThan(0);
    expect(batch).toBeLessThan(200);
  });
});

describe("what a model's server says about a failed call", () => {
  let answer: (response: ServerResponse) => unknown;
  const server = useOpened(() => startHttpServer((request, response) => void readJson(request).then(() => answer(response))));
  const TOKEN = `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", choices: [{ index: 0, delta: { content: "half" } }] })}\n\n`;

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
