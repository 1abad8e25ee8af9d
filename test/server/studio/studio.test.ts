import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createParser } from "eventsource-parser";
import { startModelServer, type ModelServer } from "../../servers/model-server.ts";
import { startStudio, type StudioProcess, type ThreadMessage, type ThreadValues } from "../../servers/studio-process.ts";
import { waitUntil } from "../../support/wait-until.ts";

const human = (content: string) => ({ messages: [{ type: "human", content }] });
type Schemas = Record<string, { properties: Record<string, unknown> }>;

async function eventsOf(sent: Promise<Response>): Promise<{ event: string | undefined; data: unknown }[]> {
  const events: { event: string | undefined; data: unknown }[] = [];
  createParser({ onEvent: ({ event, data }) => events.push({ event, data: JSON.parse(data) as unknown }) }).feed(await (await sent).text());
  return events;
}
const textsOf = ({ messages }: Pick<ThreadValues, "messages">) => messages.map(({ content }) => content);

describe("npm run studio", () => {
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
  });
  afterAll(async () => {
    await studio.stop();
    await model.close();
  });

  test("serves the graph with the schemas of its state", async () => {
    const [assistant] = (await (await studio.call("POST", "/assistants/search", {})).json()) as { graph_id: string }[];
    expect(assistant?.graph_id).toBe("conversation");
    const schemas = (await (await studio.call("GET", `/assistants/${studio.assistantId}/schemas`)).json()) as Schemas;
    const text = { type: "string" };
    expect(schemas["input_schema"]?.properties).toMatchObject({ userId: text, sessionId: text, message: text });
    const fields = Object.keys(schemas["state_schema"]?.properties ?? {});
    expect(fields).toEqual(expect.arrayContaining(["routeDecision", "recentMessages", "messages", "timings"]));
  });

  test("streams a run without a thread with each node's update, each token and the answer", async () => {
    const input = { userId: "ada", sessionId: "studio", message: "Hello", debug: true };
    const body = { assistant_id: "conversation", input, stream_mode: ["updates", "messages", "custom"] };
    const events = await eventsOf(studio.call("POST", "/runs/stream", body));
    const updates = events.filter(({ event }) => event === "updates").flatMap(({ data }) => Object.keys(data as object));
    expect(updates.toSorted()).toEqual(["core_memory", "generate", "history", "persist", "retrieve", "route"]);
    const custom = events.filter(({ event }) => event === "custom").map(({ data }) => data as { status: string; content: unknown });
    expect(custom.map(({ status }) => status)).toEqual(expect.arrayContaining(["route_decision", "accepted", "token", "execution_log"]));
    const tokens = custom.filter(({ status }) => status === "token").map(({ content }) => content);
    expect(tokens.join("")).toBe("re: Hello and so on");
    expect(events.filter(({ event }) => event?.startsWith("messages")).length).toBeGreaterThan(2);
  });

  test("streams the tokens of an answer once, with the id of the stored answer", async () => {
    const thread = await studio.createThread();
    const body = { assistant_id: "conversation", input: human("Hello"), stream_mode: ["messages-tuple"] };
    const events = await eventsOf(studio.call("POST", `/threads/${thread.id}/runs/stream`, body));
    const streamed = events.flatMap(({ event, data }) => (event === "messages" ? [(data as [ThreadMessage])[0]] : []));
    const answer = streamed.filter(({ type }) => type === "ai");
    expect(answer.map(({ content }) => content).join("")).toBe("re: Hello and so on");
    const { values } = await thread.state();
    expect(new Set(answer.map(({ id }) => id))).toEqual(new Set([values["answerMessageId"]]));
    expect(values.messages.map(({ id }) => id)).toEqual([values["currentMessageId"], values["answerMessageId"]]);
  });

  test("keeps the half answer when a run is cancelled, and frees the thread for the next message", async () => {
    const thread = await studio.createThread();
    await thread.run(human("one"));
    const body = { assistant_id: "conversation", input: human("slow") };
    const { run_id: run } = (await (await studio.call("POST", `/threads/${thread.id}/runs`, body)).json()) as { run_id: string };
    await waitUntil("the model is asked", () => model.seen.some(({ body }) => body.messages.at(-1)?.content.includes("slow")));
    expect((await studio.call("POST", `/threads/${thread.id}/runs/${run}/cancel?wait=1`)).status).toBe(204);
    await waitUntil("the run has ended", async () => (await thread.state()).next.length === 0);
    expect((await thread.state()).values).toMatchObject({ partialAnswer: true, error: { code: "turn_cancelled" } });
    expect(textsOf(await thread.run(human("three"))).slice(-2)).toEqual(["three", "re: three and so on"]);
  });

  test("adds a run from an earlier point of a thread as one more turn at the end of the conversation", async () => {
    const thread = await studio.createThread();
    const first = await thread.run(human("one"));
    const second = await thread.run(human("two"));
    const earlier = (await thread.history()).find(({ values, next }) => values.messages?.length === 2 && next.length === 0);
    const forked = await thread.run(human("other"), { checkpoint: earlier?.checkpoint });
    expect(forked.conversationId).toBe(first.conversationId);
    expect(forked.messages.slice(0, 4)).toEqual(second.messages);
    expect(textsOf(forked).slice(4)).toEqual(["other", "re: other and so on"]);
  });

  test("does not change a thread's state in runs without a thread", async () => {
    const thread = await studio.createThread();
    const [kept, ...others] = await Promise.all([
      thread.run(human("one")),
      ...Array.from({ length: 5 }, () => studio.call("POST", "/runs/wait", { assistant_id: "conversation", input: human("hi") })),
    ]);
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect((await thread.state()).values.messages).toEqual(kept.messages);
  });

  test("fails a run without a message, and says what to send", async () => {
    const thread = await studio.createThread();
    await expect(thread.run({ messages: [] })).rejects.toThrow("message: is missing; send a string");
  });
});
