import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createParser } from "eventsource-parser";
import { startModelServer, type ModelServer } from "../../servers/model-server.ts";
import { startStudio, type StudioProcess, type ThreadMessage, type ThreadValues } from "../../servers/studio-process.ts";
import { waitUntil } from "../../support/wait-until.ts";

const human = (content: string) => ({ messages: [{ type: "human", content }] });
const textsOf = ({ messages }: Pick<ThreadValues, "messages">) => messages.map(({ content }) => content);

describe("runs of threads in Studio", () => {
  let studio: StudioProcess;
  let model: ModelServer;

  beforeAll(async () => {
    model = await startModelServer();
    model.answer(({ messages }) => {
      const asked = messages.at(-1)?.content ?? "";
      return { tokens: ["re: ", asked.slice(-5), " ", "and so on"], betweenMs: asked.includes("slow") ? 60_000 : 0 };
    });
    studio = await startStudio({
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: "any",
      EMBEDDING_MODEL: "built-in",
      ENABLE_CORE_MEMORY: "false",
    });
  }, 120_000);
  afterAll(async () => {
    await studio.stop();
    await model.close();
  });

  test("stream the tokens of an answer once, under the id it is stored with", async () => {
    const thread = await studio.createThread();
    const body = { assistant_id: "conversation", input: human("Hello"), stream_mode: ["messages-tuple"] };
    const response = await studio.call("POST", `/threads/${thread.id}/runs/stream`, body);
    const streamed: ThreadMessage[] = [];
    createParser({
      onEvent({ event, data }) {
        if (event === "messages") streamed.push((JSON.parse(data) as [ThreadMessage])[0]);
      },
    }).feed(await response.text());
    const answer = streamed.filter(({ type }) => type === "ai");
    expect(answer.map(({ content }) => content).join("")).toBe("re: Hello and so on");
    const { values } = await thread.state();
    expect(new Set(answer.map(({ id }) => id))).toEqual(new Set([values["answerMessageId"]]));
    expect(values.messages.map(({ id }) => id)).toEqual([values["currentMessageId"], values["answerMessageId"]]);
  }, 30_000);

  test("keep what was said when they are cancelled, and leave the thread free for the next message", async () => {
    const thread = await studio.createThread();
    await thread.run(human("one"));
    const body = { assistant_id: "conversation", input: human("slow") };
    const { run_id: run } = (await (await studio.call("POST", `/threads/${thread.id}/runs`, body)).json()) as { run_id: string };
    await waitUntil("the model is asked", () => model.seen.some(({ body }) => body.messages.at(-1)?.content.includes("slow")));
    expect((await studio.call("POST", `/threads/${thread.id}/runs/${run}/cancel?wait=1`)).status).toBe(204);
    await waitUntil("the run has ended", async () => (await thread.state()).next.length === 0);
    const { values } = await thread.state();
    expect(values).toMatchObject({ partialAnswer: true, error: { code: "turn_cancelled" } });
    expect(textsOf(await thread.run(human("three"))).slice(-2)).toEqual(["three", "re: three and so on"]);
  }, 60_000);

  test("from an earlier point of a thread are one more turn at the end, and the thread shows the conversation as it is", async () => {
    const thread = await studio.createThread();
    const first = await thread.run(human("one"));
    const second = await thread.run(human("two"));
    const earlier = (await thread.history()).find(({ values, next }) => values.messages?.length === 2 && next.length === 0);
    const forked = await thread.run(human("other"), { checkpoint: earlier?.checkpoint });
    expect(forked.conversationId).toBe(first.conversationId);
    expect(forked.messages.slice(0, 4)).toEqual(second.messages);
    expect(textsOf(forked).slice(4)).toEqual(["other", "re: other and so on"]);
  }, 60_000);

  test("without a thread, beside those of a thread, leave its state alone", async () => {
    const thread = await studio.createThread();
    const [kept, ...others] = await Promise.all([
      thread.run(human("one")),
      ...Array.from({ length: 5 }, () => studio.call("POST", "/runs/wait", { assistant_id: "conversation", input: human("hi") })),
    ]);
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect((await thread.state()).values.messages).toEqual(kept.messages);
  }, 60_000);

  test("that lack a message fail with what to send", async () => {
    const thread = await studio.createThread();
    await expect(thread.run({ messages: [] })).rejects.toThrow("message: is missing; send a string");
  }, 30_000);
});
