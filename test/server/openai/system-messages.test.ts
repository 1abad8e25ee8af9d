import { beforeEach, describe, expect, test } from "@jest/globals";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";
import { failureOf, MODEL, openClient, says } from "./open-client.ts";

describe("completions with the official client", () => {
  const running = useServiceWithModel({ MAX_MESSAGE_CHARS: "100" });
  beforeEach(() => running.model.answer({ tokens: ["Aye."] }));

  const create = (session: string, fields: object) =>
    openClient(running.url, { headers: { "X-Session-Id": session } }).chat.completions.create({
      model: MODEL,
      user: "ada",
      messages: [says("hello")],
      ...fields,
    });
  const prompt = () => running.model.seen.at(-1)?.body.messages.slice(1);

  test("are told what system and developer messages say, all of them in their order, in that turn alone", async () => {
    const messages = [
      { role: "system", content: "Rhyme." },
      says("hi"),
      { role: "assistant", content: "ho" },
      { role: "developer", content: [{ type: "text", text: "回答要短。" }] },
      says("hello"),
    ];
    await create("told", { messages });
    expect(running.model.seen.at(-1)?.body.messages[0]?.content).toMatch(/What stands above counts more:\nRhyme\.\n\n回答要短。$/);
    expect(prompt()).toEqual([says("hello")]);
    await create("told", {});
    expect(JSON.stringify(running.model.seen.at(-1)?.body)).not.toContain("Rhyme");
    const long = { role: "system", content: "x".repeat(101) };
    expect(await failureOf(create("told", { messages: [long, says("hello")] }))).toMatchObject({ status: 413, code: "message_too_long" });
  });
});
