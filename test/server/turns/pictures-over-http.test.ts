import { describe, expect, test } from "@jest/globals";
import type { TurnResult } from "../../../turn/events.ts";
import { callApi, type ErrorBody, listMessages, postJson } from "../../support/clients/api-client.ts";
import { dataUrl } from "../../../turn/picture.ts";
import { png, pngUrl } from "../../support/samples/sample-pictures.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";

const LINK = "https://example.org/cat.png";
const text = (words: string) => ({ type: "text", text: words });
const image = (url: string, detail?: string) => ({ type: "image_url", image_url: detail ? { url, detail } : { url } });
type Part = { type: string; text?: string; image_url?: { url: string; detail?: string } };

describe("pictures in messages", () => {
  const running = useServiceWithModel();

  const chat = <Body = TurnResult>(sessionId: string, message: unknown, fields: object = {}) =>
    postJson<Body>(`${running.url}/api/v1/chat`, { user_id: "ada", session_id: sessionId, message, ...fields });
  /** What the model was sent last, without its system message. */
  const lastPrompt = (): { role: string; content: string | Part[] }[] =>
    (running.model.seen.at(-1)?.body.messages ?? []).filter(({ role }) => role !== "system");
  const picturesIn = (content: string | Part[] | undefined): string[] =>
    Array.isArray(content) ? content.flatMap(({ image_url }) => (image_url ? [image_url.url] : [])) : [];

  test("reach the model unchanged, with words and in their order, and their addresses are not opened here", async () => {
    const url = pngUrl(3, 2);
    const { status } = await chat("reach", [text("Which is the cat?"), image(url, "low"), image(LINK)]);
    expect(status).toBe(200);
    expect(lastPrompt().at(-1)?.content).toEqual([text("Which is the cat?"), image(url, "low"), image(LINK)]);
  });

  test("are sent again in the next two turns, and then only as a placeholder", async () => {
    const url = pngUrl(4, 2);
    await chat("again", [text("Look at this."), image(url)]);
    for (const words of ["one", "two", "three"]) {
      await chat("again", words);
      const [first] = lastPrompt();
      expect(picturesIn(first?.content)).toEqual(words === "three" ? [] : [url]);
      const said = Array.isArray(first?.content) ? first.content.find(({ type }) => type === "text")?.text : first?.content;
      expect(said).toBe("Look at this.\n[picture 图片]");
    }
  });

  test("need no words", async () => {
    const { json } = await chat("wordless", [image(pngUrl(5, 2))]);
    expect(json.receipt).toMatchObject({ episodes: [], passages: [] });
    expect(lastPrompt().at(-1)?.content).toEqual([image(pngUrl(5, 2))]);
    expect((await listMessages(running.url, json.conversation_id))[0]).toMatchObject({ content: "", completed: true });
  });

  test.each([
    ["with words", [text("What is this?"), image(pngUrl(7, 2))]],
    ["without words", [image(pngUrl(8, 2))]],
  ])("%s are shown to the model again when it repeats the answer", async (name, parts) => {
    const { json } = await chat(`once more ${name}`, parts);
    const asked = lastPrompt().at(-1)?.content;
    const again = await chat(`once more ${name}`, undefined, { regenerate: json.message_id });
    expect(again.status).toBe(200);
    expect(lastPrompt().at(-1)?.content).toEqual(asked);
    expect(lastPrompt()).toHaveLength(1);
  });

  test("are listed with their message, and their bytes can be read by whoever may read the message", async () => {
    const bytes = png(6, 2);
    const { json } = await chat("listed", [text("Look"), image(dataUrl("text/html", bytes)), image(LINK)]);
    const [asked] = await listMessages(running.url, json.conversation_id);
    const path = `/api/v1/messages/${asked?.id}/attachments/0`;
    expect(asked).toMatchObject({
      content: "Look",
      attachments: [
        { type: "image", url: path, media_type: "image/png", width: 6, height: 2, bytes: bytes.length, detail: null },
        { type: "image", url: LINK, media_type: null, width: null, height: null, bytes: null, detail: null },
      ],
    });
    const answer = await fetch(running.url + path);
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-type": "image/png",
      "x-content-type-options": "nosniff",
      "cache-control": "private, max-age=3600",
      "content-disposition": 'inline; filename="picture-1.png"',
      "content-security-policy": expect.stringContaining("default-src 'none'"),
    });
    const again = await fetch(running.url + path, {
      headers: { "if-none-match": answer.headers.get("etag") ?? "", "cache-control": "max-age=0" },
    });
    expect(again.status).toBe(304);
    for (const wrong of ["1", "2", "x"]) {
      const { status, json: refusal } = await callApi(`${running.url}/api/v1/messages/${asked?.id}/attachments/${wrong}`);
      expect([status, refusal.error.code]).toEqual([404, "not_found"]);
    }
  });

  test("are counted in the context by the model's rules", async () => {
    const { json } = await chat("counted", [text("Look"), image(pngUrl(280, 280))]);
    expect(json.receipt.prompt_tokens?.pictures).toBe(100);
    const { json: context } = await callApi<{ parts: { pictures?: number } }>(
      `${running.url}/api/v1/conversations/${json.conversation_id}/context`,
    );
    expect(context.parts.pictures).toBe(100);
    const wordsAlone = await chat("words alone", "Look");
    expect(Object.keys(wordsAlone.json.receipt.prompt_tokens ?? {})).not.toContain("pictures");
  });

  test("of a turn with remember: false are erased with their conversation", async () => {
    const body = { user_id: "gone", message: [image(pngUrl(7, 2))], remember: false };
    const { json } = await postJson<TurnResult>(`${running.url}/api/v1/chat`, body);
    const [asked] = await listMessages(running.url, json.conversation_id);
    const path = `${running.url}/api/v1/messages/${asked?.id}/attachments/0`;
    expect((await fetch(path)).status).toBe(200);
    await fetch(`${running.url}/api/v1/conversations/${json.conversation_id}`, { method: "DELETE" });
    expect((await fetch(path)).status).toBe(404);
  });

  test.each([
    ["an address of another scheme", [image("ftp://example.org/a.png")], "message.0.image_url", 400, "invalid_request"],
    ["data that are no picture", [text("a"), image("data:image/png;base64,aGVsbG8=")], "message.1.image_url", 400, "invalid_request"],
    ["an unknown part", [{ type: "video_url", video_url: "x" }], "message.0.type", 400, "invalid_request"],
    ["an unknown detail", [image(LINK, "best")], "message.0.image_url", 400, "invalid_request"],
    ["no parts", [], "message", 400, "invalid_request"],
    ["blank words", [text("  ")], "message", 400, "invalid_request"],
    ["too many pictures", Array.from({ length: 11 }, () => image(LINK)), "message", 400, "invalid_request"],
    [
      "a picture of more than 10 MiB",
      [image(pngUrl(2, 2, { padding: 10 * 1024 * 1024 }))],
      "message.0.image_url",
      413,
      "picture_too_large",
    ],
  ])("are refused with the field's name when the message has %s", async (_what, message, field, status, code) => {
    const refused = await chat<ErrorBody>("refused", message);
    expect(refused).toMatchObject({ status, json: { error: { code, details: [expect.objectContaining({ field })] } } });
  });

  test("of more than 20 MiB together are refused as too large", async () => {
    const large = (grey: number) => image(pngUrl(2, 2, { grey, padding: 7 * 1024 * 1024 }));
    const refused = await chat<ErrorBody>("large", [large(1), large(2), large(3)]);
    expect(refused).toMatchObject({ status: 413, json: { error: { code: "picture_too_large", details: [{ field: "message" }] } } });
  });

  test("belong to the body of an Idempotency-Key", async () => {
    const send = (url: string) =>
      postJson<TurnResult & ErrorBody>(
        `${running.url}/api/v1/chat`,
        { user_id: "ada", session_id: "key", message: [image(url)] },
        { "idempotency-key": "with-a-picture" },
      );
    const first = await send(pngUrl(8, 2));
    expect((await send(pngUrl(8, 2))).json.message_id).toBe(first.json.message_id);
    expect((await send(pngUrl(9, 2))).json.error.code).toBe("idempotency_mismatch");
  });

  test("fail the turn with a clear error when the model's server refuses them, and the next turn goes on without them", async () => {
    running.model.answer({
      status: 500,
      error: { code: 500, message: "image input is not supported - hint: mmproj", type: "server_error" },
    });
    const refused = await chat<ErrorBody>("unseen", [text("Look"), image(pngUrl(3, 4))]);
    expect(refused).toMatchObject({ status: 400, json: { error: { code: "model_cannot_see" } } });
    running.model.answer({});
    const next = await chat("unseen", "And in words?");
    expect(next.status).toBe(200);
    expect(lastPrompt().map(({ content }) => content)).toEqual(["Look\n[picture 图片]", "(no answer)", "And in words?"]);
  });
});
