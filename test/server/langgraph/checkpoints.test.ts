import { beforeEach, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { callApi, type ListedMessage } from "../../support/clients/api-client.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { framesOf, human, langGraphClient, lastOf, refusalOf, type StateValues, statusesOf } from "./langgraph-client.ts";
import { pngUrl } from "../../support/samples/sample-pictures.ts";

const opened = useServiceWithModel();
const client = () => langGraphClient(opened.url);

describe("in LangGraph's protocol,", () => {
  beforeEach(() => opened.model.answer({ tokens: ["Hi."] }));
  const texts = ({ messages }: Pick<StateValues, "messages">): string[] => messages.map(({ content }) => content);
  const stateOf = async (threadId: string): Promise<string[]> => texts((await client().threads.getState<StateValues>(threadId)).values);
  async function say(threadId: string, content: string | null, answer: string, options: object = {}): Promise<string[]> {
    opened.model.answer({ tokens: [answer] });
    const input = content === null ? null : human(content);
    return texts((await client().runs.wait(threadId, "assistant", { input, ...options })) as unknown as StateValues);
  }
  /** A thread with these questions; their answers are the same in capitals. */
  async function talk(...questions: string[]): Promise<string> {
    const { thread_id: threadId } = await client().threads.create({ metadata: { user_id: `ada ${uuidv7()}`, topic: "boats" } });
    for (const question of questions) await say(threadId, question, question.toUpperCase());
    return threadId;
  }
  const pairs = (...questions: string[]): string[] => questions.flatMap((question) => [question, question.toUpperCase()]);
  /** The newest first. */
  const checkpointsOf = async (threadId: string): Promise<string[]> =>
    (await client().threads.getHistory(threadId, { limit: 50 })).map(({ checkpoint }) => checkpoint.checkpoint_id ?? "");
  describe("a checkpoint", () => {
    test("lets a run go on from there, and later messages leave the path but keep their states", async () => {
      const threadId = await talk("one", "two", "three");
      const [third = "", , first = ""] = await checkpointsOf(threadId);
      const frames = await framesOf(
        client().runs.stream(threadId, "assistant", { input: human("zwei"), checkpointId: first, streamMode: ["values"] }),
      );
      expect(texts(lastOf(frames))).toEqual([...pairs("one"), "zwei", "THREE"]);
      expect(await stateOf(threadId)).toEqual([...pairs("one"), "zwei", "THREE"]);
      const history = await client().threads.getHistory<StateValues>(threadId, { limit: 10 });
      expect(history.map(({ values }) => values.messages.length)).toEqual([4, 6, 4, 2]); // behind its own states those of the branch that leaves there
      expect(history[0]?.parent_checkpoint?.checkpoint_id).toBe(first);
      expect(texts((await client().threads.getState<StateValues>(threadId, third)).values)).toEqual(pairs("one", "two", "three"));
      expect(await say(threadId, "four", "FOUR", { checkpointId: third })).toEqual(pairs("one", "two", "three", "four"));
      expect(statusesOf(await client().runs.list(threadId))).toEqual(Array(5).fill("success"));
    });

    test("lets its question be answered again without input, and the first checkpoint lets the first question be edited", async () => {
      const threadId = await talk("one", "two");
      const [, first = ""] = await checkpointsOf(threadId);
      expect(await say(threadId, null, "other", { checkpointId: first })).toEqual([...pairs("one"), "two", "other"]);
      const history = await client().threads.getHistory<StateValues>(threadId, { limit: 10 });
      expect(history.map(({ values }) => values.messages.at(-1)?.content)).toEqual(["other", "TWO", "two", "ONE"]);
      const [again, earlier, question, before] = history;
      const parting = [again, earlier].map((state) => state?.parent_checkpoint?.checkpoint_id);
      expect(parting).toEqual(Array(2).fill(question?.checkpoint.checkpoint_id));
      expect([question?.parent_checkpoint?.checkpoint_id, before?.checkpoint.checkpoint_id]).toEqual([first, first]);
      const beginning = before?.parent_checkpoint?.checkpoint_id ?? "";
      expect(texts((await client().threads.getState<StateValues>(threadId, beginning)).values)).toEqual([]);
      expect(await say(threadId, "eins", "EINS", { checkpointId: beginning })).toEqual(pairs("eins"));
      const nothing = client().runs.wait(threadId, "assistant", { input: null, checkpointId: (await checkpointsOf(threadId))[0] ?? "" });
      expect(await refusalOf(nothing)).toMatchObject({ status: 400, message: expect.stringContaining("input") });
    });

    test("of the newest state changes nothing about how a run goes on", async () => {
      const threadId = await talk("one");
      const [newest = ""] = await checkpointsOf(threadId);
      expect(await say(threadId, "two", "TWO", { checkpoint: { checkpoint_id: newest, checkpoint_ns: "" } })).toEqual(pairs("one", "two"));
      const { json } = await callApi<{ branches: unknown[] }>(`${opened.url}/api/v1/conversations/${threadId}/branches`);
      expect(json.branches).toHaveLength(1);
    });

    test("can be gone back to without a run, but no other part of a state can be written", async () => {
      const threadId = await talk("one", "two");
      const [second = "", first = ""] = await checkpointsOf(threadId);
      const { checkpoint } = (await client().threads.updateState(threadId, { values: null, checkpointId: first })) as unknown as {
        checkpoint: object;
      };
      expect(checkpoint).toMatchObject({ checkpoint_id: first });
      expect(await stateOf(threadId)).toEqual(pairs("one"));
      await client().threads.updateState(threadId, { values: null, checkpointId: second });
      expect(await stateOf(threadId)).toEqual(pairs("one", "two"));
      const written = client().threads.updateState(threadId, { values: { messages: [] } });
      expect(await refusalOf(written)).toMatchObject({ status: 422 });
    });

    test.each([
      ["does not exist", async () => uuidv7()],
      ["belongs to another thread", async () => (await checkpointsOf(await talk("other")))[0] ?? ""],
    ])("that %s is refused with 404", async (_whose, checkpoint) => {
      const threadId = await talk("one");
      const asked = client().runs.wait(threadId, "assistant", { input: human("two"), checkpointId: await checkpoint() });
      expect(await refusalOf(asked)).toMatchObject({ status: 404, message: expect.stringContaining("checkpoint") });
      expect(await stateOf(threadId)).toEqual(pairs("one"));
    });
  });
  describe("a copy of a thread", () => {
    test("has the thread's messages, metadata and states, goes on by itself, and loses what is deleted in the thread", async () => {
      const threadId = await talk("one", "two");
      const { thread_id: copy, metadata } = (await client().threads.copy(threadId)) as unknown as { thread_id: string; metadata: object };
      expect(metadata).toMatchObject({ topic: "boats" });
      expect(await stateOf(copy)).toEqual(pairs("one", "two"));
      const [, first = ""] = await checkpointsOf(copy);
      expect(await checkpointsOf(copy)).toEqual(await checkpointsOf(threadId));
      expect(await say(copy, "three", "THREE", { checkpointId: first })).toEqual(pairs("one", "three"));
      expect(await stateOf(threadId)).toEqual(pairs("one", "two"));
      expect(await client().runs.list(copy)).toHaveLength(1);
      await client().threads.delete(threadId);
      expect(await stateOf(copy)).toEqual(pairs("three"));
    });

    test("is empty for an empty thread", async () => {
      const { thread_id: copy } = (await client().threads.copy(await talk())) as unknown as { thread_id: string };
      expect(await stateOf(copy)).toEqual([]);
      expect(await refusalOf(client().threads.copy(uuidv7()))).toMatchObject({ status: 404 });
    });
  });
  describe("a run that is rolled back", () => {
    async function begin(threadId: string): Promise<string> {
      opened.model.answer({ tokens: ["half "], ending: "hang" });
      const { run_id: runId } = await client().runs.create(threadId, "assistant", { input: human("taken back") });
      await waitUntil("the question is stored", async () => (await stateOf(threadId)).includes("taken back"));
      return runId;
    }

    test("by another run leaves the path with its question, and is stored as interrupted", async () => {
      const threadId = await talk("one");
      const runId = await begin(threadId);
      expect(await say(threadId, "two", "TWO", { multitaskStrategy: "rollback" })).toEqual(pairs("one", "two"));
      expect(await client().runs.get(threadId, runId)).toMatchObject({ status: "interrupted" });
      const { json } = await callApi<{ messages: ListedMessage[] }>(`${opened.url}/api/v1/conversations/${threadId}/messages`);
      expect(json.messages.map(({ content }) => content)).toEqual(pairs("one", "two"));
    });

    test("by a cancel leaves the path, too", async () => {
      const threadId = await talk("one");
      const runId = await begin(threadId);
      await client().runs.cancel(threadId, runId, true, "rollback");
      expect(await stateOf(threadId)).toEqual(pairs("one"));
    });
  });
});

describe("in LangGraph's protocol,", () => {
  let threadId: string;
  beforeEach(async () => {
    opened.model.answer({ tokens: ["A cat."] });
    threadId = (await client().threads.create({ metadata: { user_id: "ada" } })).thread_id;
  });
  const text = (words: string) => ({ type: "text", text: words });
  const image = (url: string) => ({ type: "image_url", image_url: { url } });
  const input = (...content: object[]) => ({ messages: [{ type: "human", id: "its-own", content }] });
  const seen = () => JSON.stringify(opened.model.seen.at(-1)?.body.messages.at(-1)?.content);
  const stored = async () => (await client().threads.getState<StateValues>(threadId)).values.messages[0];
  const kept = (id: string | undefined) => image(`/api/v1/messages/${id}/attachments/0`);
  describe("pictures in the input of a run", () => {
    test.each<[string, (data: string) => object]>([
      ["image_url", (data) => image(`data:image/png;base64,${data}`)],
      ["image with a base64 text", (data) => ({ type: "image", source_type: "base64", mime_type: "image/png", data })],
      ["image with data", (data) => ({ type: "image", mimeType: "image/png", data })],
      ["image with an address", (data) => ({ type: "image", url: `data:image/png;base64,${data}` })],
    ])("reach the model from parts of type %s, and have an address in the stream and the state", async (_type, part) => {
      const url = pngUrl(4, 3);
      const given = input(text("What is this?"), part(url.slice(url.indexOf(",") + 1)));
      const frames = await framesOf(client().runs.stream(threadId, "assistant", { input: given, streamMode: ["values"] }));
      expect(seen()).toContain(url);
      const asked = await stored();
      expect(asked?.content).toEqual([text("What is this?"), kept(asked?.id)]);
      expect(lastOf(frames).messages[0]).toMatchObject({ id: "its-own", content: asked?.content });
      expect(JSON.stringify(frames)).not.toContain("base64");
    });

    test("need no words, and are shown to the model again when it repeats the answer", async () => {
      await client().runs.wait(threadId, "assistant", { input: input(image(pngUrl(5, 3))) });
      const asked = await stored();
      expect(asked?.content).toEqual([kept(asked?.id)]);
      const [first] = await client().threads.getHistory(threadId);
      await client().runs.wait(threadId, "assistant", { input: null, checkpointId: first?.parent_checkpoint?.checkpoint_id ?? "" });
      expect(seen()).toContain(pngUrl(5, 3));
    });

    test("are shown again when their question failed and is asked again", async () => {
      opened.model.answer({ status: 400 });
      await client().runs.wait(threadId, "assistant", { input: input(text("Who is it?"), image(pngUrl(6, 3))), raiseError: false });
      opened.model.answer({ tokens: ["A dog."] });
      opened.model.seen.length = 0;
      await client().runs.wait(threadId, "assistant", { input: null, checkpointId: threadId });
      expect(seen()).toContain(pngUrl(6, 3));
      expect((await client().threads.getState<StateValues>(threadId)).values.messages.map(({ type }) => type)).toEqual(["human", "ai"]);
    });

    test.each<[string, object]>([
      ["holds no picture", image("data:image/png;base64,AAAA")],
      ["has no address", { type: "image" }],
      ["has another type", { type: "audio", data: "AAAA" }],
    ])("are refused when a part %s, and nothing is stored", async (_what, part) => {
      expect(await refusalOf(client().runs.wait(threadId, "assistant", { input: input(text("x"), part) }))).toMatchObject({
        status: 400,
        message: expect.stringContaining("messages") as unknown,
      });
      expect(await stored()).toBeUndefined();
    });
  });
});
