import { beforeEach, describe, expect, test } from "@jest/globals";
import { listMessages, listConversations, messagesOf } from "../../support/clients/api-client.ts";
import { openOfflineCoreMemory } from "../../support/services/service-with-core-memory.ts";
import { useServiceWithEpisodes } from "../../support/services/service-with-episodes.ts";
import { useOpened } from "../../support/use-opened.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { failureOf, MODEL, openClient, says } from "./open-client.ts";

const answered = (content: string) => ({ role: "assistant" as const, content });

describe("a request that ends with the last answer", () => {
  const running = useServiceWithEpisodes();
  beforeEach(() => running.model.answer({ tokens: ["Tram 28 ", "climbs"] }));

  const completions = (session: string) => openClient(running.url, { headers: { "X-Session-Id": session } }).chat.completions;
  const create = (session: string, messages: object[], options: object = {}) =>
    completions(session).create({ model: MODEL, user: session, messages: messages as never }, options);
  const text = async (session: string, ...messages: object[]) => (await create(session, messages)).choices[0]?.message.content;
  const stored = (session: string) => messagesOf(running.url, session, session);
  const contents = async (session: string) => (await stored(session)).map(({ content }) => content);
  const settled = async (session: string) => {
    const [conversation] = await listConversations(running.url, session);
    expect(await running.settle(conversation?.id ?? "")).toEqual({ settled: true, pending: 0 });
  };
  const episodesOf = async (session: string, query: string) =>
    (await running.episodes(session, { query })).json.episodes.map(({ user_message, assistant_message }) => [
      user_message,
      assistant_message,
    ]);
  const prompt = () => running.model.seen.at(-1)?.body.messages.slice(1);

  const ASKED = says("Where does the tram go?");

  test("continues this answer, which grows in the conversation, in later prompts and in recalled memory", async () => {
    running.model.answer({ tokens: ["Tram 28 ", "climbs"], ending: "length" });
    expect((await create("grown", [ASKED])).choices[0]).toMatchObject({ finish_reason: "length", message: answered("Tram 28 climbs") });
    await settled("grown");
    const before = await stored("grown");
    running.model.answer({ tokens: [" to ", "Graça."] });
    const stream = completions("grown").stream({ model: MODEL, user: "grown", messages: [ASKED, answered("Tram 28 climbs")] });
    expect((await stream.finalChatCompletion()).choices[0]).toMatchObject({ finish_reason: "stop", message: { content: " to Graça." } });
    expect(prompt()).toEqual([ASKED, answered("Tram 28 climbs")]);
    const after = await stored("grown");
    expect(after.map(({ id, content, completed }) => [id, content, completed])).toEqual([
      [before[0]?.id, "Where does the tram go?", true],
      [before[1]?.id, "Tram 28 climbs to Graça.", true],
    ]);
    expect(after[1]?.metadata).not.toHaveProperty("cut");
    expect((await listConversations(running.url, "grown"))[0]?.message_count).toBe(2);
    await settled("grown");
    expect(await episodesOf("grown", "Graça")).toEqual([["Where does the tram go?", "Tram 28 climbs to Graça."]]);
    await text("grown", ASKED, answered("Tram 28 climbs to Graça."), says("Thanks"));
    expect(prompt()).toEqual([ASKED, answered("Tram 28 climbs to Graça."), says("Thanks")]);
  });

  test("can continue the answer again and again", async () => {
    await text("again", ASKED);
    running.model.answer({ tokens: [" up"] });
    await text("again", ASKED, answered("Tram 28 climbs"));
    await text("again", ASKED, answered("Tram 28 climbs up"));
    await settled("again");
    expect(await contents("again")).toEqual(["Where does the tram go?", "Tram 28 climbs up up"]);
    expect(await episodesOf("again", "tram")).toEqual([["Where does the tram go?", "Tram 28 climbs up up"]]);
  });

  test("continues an answer that its reader stopped, from the part that the reader saw", async () => {
    running.model.answer({ tokens: ["Tram ", "28 ", "climbs ", "and ", "climbs"], ending: "hang" });
    const stream = await completions("stopped").create({ model: MODEL, user: "stopped", stream: true, messages: [ASKED] });
    let seen = "";
    for await (const { choices } of stream) {
      seen += choices[0]?.delta.content ?? "";
      if (seen.endsWith("and climbs")) stream.controller.abort();
    }
    await waitUntil("the partial answer", async () => (await stored("stopped")).length === 2);
    running.model.answer({ tokens: ["to Graça."] });
    expect(await text("stopped", ASKED, answered("Tram 28 climbs "))).toBe("to Graça.");
    expect(prompt()).toEqual([ASKED, answered("Tram 28 climbs ")]);
    expect((await stored("stopped"))[1]).toMatchObject({ content: "Tram 28 climbs to Graça.", completed: true });
    await settled("stopped");
    expect(await episodesOf("stopped", "Graça")).toEqual([["Where does the tram go?", "Tram 28 climbs to Graça."]]);
  });

  test("leaves the answer unchanged when the model is away, and keeps what the model says before it breaks off", async () => {
    await text("broken", ASKED);
    running.model.answer({ status: 500 });
    expect(await failureOf(create("broken", [ASKED, answered("Tram 28 climbs")]))).toMatchObject({ code: "model_unavailable" });
    expect((await stored("broken"))[1]).toMatchObject({ content: "Tram 28 climbs", completed: true });
    running.model.answer({ tokens: [" to "], ending: "cut" });
    expect(await failureOf(create("broken", [ASKED, answered("Tram 28 climbs")]))).toMatchObject({ code: "model_interrupted" });
    // Memory knew its beginning before, and does not forget it.
    expect((await stored("broken"))[1]).toMatchObject({ content: "Tram 28 climbs to ", completed: true });
    await settled("broken");
    running.model.answer({ tokens: ["Graça."] });
    expect(await text("broken", ASKED, answered("Tram 28 climbs to"))).toBe("Graça.");
    expect(await contents("broken")).toEqual(["Where does the tram go?", "Tram 28 climbs to Graça."]);
  });

  test("continues the answer once with an Idempotency-Key, and gets the same text again", async () => {
    await text("keyed", ASKED);
    running.model.answer({ tokens: [" up"] });
    const asked = running.model.seen.length;
    const options = { headers: { "Idempotency-Key": "up" } };
    const again = () => create("keyed", [ASKED, answered("Tram 28 climbs")], options);
    expect((await Promise.all([again(), again()])).map(({ choices }) => choices[0]?.message.content)).toEqual([" up", " up"]);
    expect((await again()).choices[0]?.message.content).toBe(" up");
    expect(running.model.seen).toHaveLength(asked + 1);
    expect(await contents("keyed")).toEqual(["Where does the tram go?", "Tram 28 climbs up"]);
    const other = failureOf(create("keyed", [ASKED, answered("Tram 28 climbs up")], options));
    expect(await other).toMatchObject({ status: 422, code: "idempotency_mismatch" });
  });

  test("continues the answer at the second attempt with the same key when the first one failed", async () => {
    await text("retried", ASKED);
    const options = { headers: { "Idempotency-Key": "retried" } };
    running.model.answer({ status: 500 });
    const go = () => create("retried", [ASKED, answered("Tram 28 climbs")], options);
    expect(await failureOf(go())).toMatchObject({ code: "model_unavailable" });
    running.model.answer({ tokens: [" up"] });
    expect((await go()).choices[0]?.message.content).toBe(" up");
    expect(await contents("retried")).toEqual(["Where does the tram go?", "Tram 28 climbs up"]);
  });

  test("waits for a running turn, and is refused when the conversation has gone on by then", async () => {
    await text("busy", ASKED);
    const release = running.model.hold(["At seven."]);
    const asked = running.model.seen.length;
    const next = text("busy", ASKED, answered("Tram 28 climbs"), says("When?"));
    await running.model.untilAsked(asked + 1);
    const late = failureOf(create("busy", [ASKED, answered("Tram 28 climbs")]));
    release();
    expect(await next).toBe("At seven.");
    expect(await late).toMatchObject({ status: 400, code: "invalid_request", param: "messages.1.content" });
    expect(await contents("busy")).toEqual([ASKED.content, "Tram 28 climbs", "When?", "At seven."]);
  });

  test("is refused and changes nothing when its answer is not the stored one, or none is stored", async () => {
    await text("other", ASKED);
    const before = await stored("other");
    const asked = running.model.seen.length;
    for (const stream of [false, true]) {
      for (const forged of ["Tram 28", "Tram 28 climbs to the moon", "x"]) {
        const refused = await failureOf(
          completions("other").create({ model: MODEL, user: "other", stream, messages: [ASKED, answered(forged)] }),
        );
        expect(refused).toMatchObject({ status: 400, type: "invalid_request_error", code: "invalid_request", param: "messages.1.content" });
        expect(refused.message).toMatch(/not the last answer.*send what the user says/);
      }
    }
    expect(await failureOf(create("nobody", [ASKED, answered("Tram 28 climbs")]))).toMatchObject({
      status: 400,
      param: "messages.1.content",
      message: expect.stringContaining("nothing to go on with"),
    });
    expect(await failureOf(create("other", [answered("Tram 28 climbs")]))).toMatchObject({ status: 400, param: "messages" });
    expect(running.model.seen).toHaveLength(asked);
    expect(await stored("other")).toEqual(before);
    expect(await listConversations(running.url, "nobody")).toEqual([]);
    // Nothing holds the conversation.
    expect(await text("other", says("And back?"))).toBe("Tram 28 climbs");
  });
});

describe("a continued answer and core memory", () => {
  const running = useOpened(() => openOfflineCoreMemory());

  test("adds no fact a second time, and brings back no fact that a person removed", async () => {
    const { chat } = openClient(running.url, { headers: { "X-Session-Id": "s" } });
    const ask = (...messages: object[]) => chat.completions.create({ model: MODEL, user: "ada", messages: messages as never });
    const told = says("I live in Porto.");
    const first = (await ask(told)).choices[0]?.message.content ?? "";
    const [conversation] = await listConversations(running.url, "ada");
    const id = conversation?.id ?? "";
    await running.settle(id);
    const known = await running.read("ada");
    const done = (await running.operations("ada")).json;
    expect(known).toHaveLength(1);
    const rest = (await ask(told, answered(first))).choices[0]?.message.content ?? "";
    expect(rest).toContain("nothing to add");
    await running.settle(id);
    expect(await running.read("ada")).toEqual(known);
    expect((await running.operations("ada")).json).toEqual(done);

    await running.remove("ada", known[0]?.section ?? "");
    await ask(told, answered(first + rest));
    await running.settle(id);
    expect(await running.read("ada")).toEqual([]);
    expect((await listMessages(running.url, id)).map(({ content }) => content)).toEqual([told.content, first + rest + rest]);
  });
});
