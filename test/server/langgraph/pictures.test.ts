import { beforeEach, describe, expect, test } from "@jest/globals";
import { pngUrl } from "../../support/samples/sample-pictures.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { framesOf, langGraphClient, lastOf, refusalOf, type StateValues } from "./langgraph-client.ts";

const opened = useServiceWithModel();
const client = () => langGraphClient(opened.url);
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

describe("pictures in the input of a run, by LangGraph's client", () => {
  test.each<[string, (data: string) => object]>([
    ["image_url", (data) => image(`data:image/png;base64,${data}`)],
    ["image with a base64 text", (data) => ({ type: "image", source_type: "base64", mime_type: "image/png", data })],
    ["image with data", (data) => ({ type: "image", mimeType: "image/png", data })],
    ["image with an address", (data) => ({ type: "image", url: `data:image/png;base64,${data}` })],
  ])("reach the model as parts of type %s, and stand in the stream and the state under an address", async (_type, part) => {
    const url = pngUrl(4, 3);
    const given = input(text("What is this?"), part(url.slice(url.indexOf(",") + 1)));
    const frames = await framesOf(client().runs.stream(threadId, "assistant", { input: given, streamMode: ["values"] }));
    expect(seen()).toContain(url);
    const asked = await stored();
    expect(asked?.content).toEqual([text("What is this?"), kept(asked?.id)]);
    expect(lastOf(frames).messages[0]).toMatchObject({ id: "its-own", content: asked?.content });
    expect(JSON.stringify(frames)).not.toContain("base64");
  });

  test("need no words, and are shown again to the model that answers once more", async () => {
    await client().runs.wait(threadId, "assistant", { input: input(image(pngUrl(5, 3))) });
    const asked = await stored();
    expect(asked?.content).toEqual([kept(asked?.id)]);
    const [first] = await client().threads.getHistory(threadId);
    await client().runs.wait(threadId, "assistant", { input: null, checkpointId: first?.parent_checkpoint?.checkpoint_id ?? "" });
    expect(seen()).toContain(pngUrl(5, 3));
  });

  test("are shown again when their question got no answer and is asked once more", async () => {
    opened.model.answer({ status: 400 });
    await client().runs.wait(threadId, "assistant", { input: input(text("Who is it?"), image(pngUrl(6, 3))), raiseError: false });
    opened.model.answer({ tokens: ["A dog."] });
    opened.model.seen.length = 0;
    await client().runs.wait(threadId, "assistant", { input: null, checkpointId: threadId });
    expect(seen()).toContain(pngUrl(6, 3));
    expect((await client().threads.getState<StateValues>(threadId)).values.messages.map(({ type }) => type)).toEqual(["human", "ai"]);
  });

  test.each<[string, object]>([
    ["that holds no picture", image("data:image/png;base64,AAAA")],
    ["without an address", { type: "image" }],
    ["of another type", { type: "audio", data: "AAAA" }],
  ])("a part %s is 400, and nothing is stored", async (_what, part) => {
    expect(await refusalOf(client().runs.wait(threadId, "assistant", { input: input(text("x"), part) }))).toMatchObject({
      status: 400,
      message: expect.stringContaining("messages") as unknown,
    });
    expect(await stored()).toBeUndefined();
  });
});
