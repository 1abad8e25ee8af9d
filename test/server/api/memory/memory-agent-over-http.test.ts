import { beforeEach, describe, expect, test } from "@jest/globals";
import { estimateTokens } from "../../../../text/tokens.ts";
import { postJson } from "../../../support/clients/api-client.ts";
import { callOnce, MEMORY_MODEL, useServiceWithCoreMemory, writing } from "../../../support/services/service-with-core-memory.ts";
import { importedTurns } from "../../../support/services/service-with-episodes.ts";

const INSERT = {
  name: "archival_insert",
  arguments: { content: "Grace sold her boat Albatross in Porto.", episode_type: "outcome", importance: 0.9 },
};

describe("the memory agent with a model and an archive", () => {
  const running = useServiceWithCoreMemory({
    ENABLE_EPISODIC_MEMORY: "true",
    EMBEDDING_MODEL: "built-in",
    ENABLE_SUMMARY: "false",
  });
  let user: string;
  beforeEach(() => {
    user = crypto.randomUUID();
    running.model.seen.splice(0);
    running.remember(() => ({ tokens: ["nothing to do"] }));
    running.answer(({ messages }) => ({ tokens: ["re: ", messages.at(-1)?.content.split("\n").at(-1) ?? ""] }));
  });

  const toldToModel = (): string[] =>
    running.memoryRequests().flatMap(({ body }) => body.messages.filter(({ role }) => role === "tool").map(({ content }) => content));

  test("asks MEMORY_MODEL after a turn, and what it writes is in the prompt of the next", async () => {
    running.remember(callOnce(writing("profile", "Lives in Porto")));
    const turn = await running.say(user, "I moved to Porto.");
    await running.settle(turn.conversation_id);
    expect(running.memoryRequests()).toHaveLength(2);
    expect(await running.read(user)).toMatchObject([{ section: "profile", content: "Lives in Porto", version: 1, updated_by: "agent" }]);
    running.remember(() => ({ tokens: ["nothing to do"] }));
    const next = await running.say(user, "Where do I live?", "another session");
    await running.settle(next.conversation_id);
    expect(next.receipt.core_memory).toEqual([{ section: "profile", version: 1 }]);
    const prompt = running.model.seen.filter(({ body }) => body.model !== MEMORY_MODEL).at(-1)?.body.messages[0]?.content;
    expect(prompt).toMatch(/<core_memory>\n\[profile\]\n> Lives in Porto\n<\/core_memory>/);
  });

  test("is given what is known and what was said: no summary, no recalled episodes, no incomplete turns", async () => {
    const imported = await running.bring(user, importedTurns([["Agnès Varda is a director whose films I watch.", "A fine choice."]]));
    await running.settle(imported.conversation_id);
    await running.write(user, "goals", "To sail");
    running.answer(() => ({ tokens: ["half an ans"], ending: "cut" }));
    await postJson(`${running.url}/api/v1/chat`, { user_id: user, session_id: "s", message: "incomplete words" });
    running.answer(() => ({ tokens: ["Varda?"] }));
    running.model.seen.splice(0);
    const turn = await running.say(user, "Which director do I like?");
    expect(turn.receipt.episodes.length).toBeGreaterThan(0);
    await running.settle(turn.conversation_id);
    const [request, ...others] = running.memoryRequests();
    expect(others).toEqual([]);
    expect(request?.body.messages.map(({ role }) => role)).toEqual(["system", "user"]);
    expect(request?.body.messages[1]?.content).toMatch(
      /^<core_memory>\n\[goals\] \(last changed by what was said on [\d :-]+ UTC\)\n> To sail\n<\/core_memory>\nTurn 1, said on [\d :-]+ UTC:\n<user_message>\n> Which director do I like\?\n<\/user_message>\n<assistant_message>\n> Varda\?\n<\/assistant_message>$/,
    );
  });

  test("what it archives becomes an episode: found over HTTP and recalled in another session, and it is logged", async () => {
    running.remember(callOnce(INSERT));
    const turn = await running.say(user, "By the way, Grace has news.");
    await running.settle(turn.conversation_id);
    running.remember(() => ({ tokens: ["nothing to do"] }));
    const [found] = await running.episodes(user, "Albatross boat");
    expect(found).toMatchObject({
      user_message: INSERT.arguments.content,
      conversation_id: turn.conversation_id,
      episode_type: "outcome",
      importance: 0.9,
    });
    const next = await running.say(user, "What became of the boat Albatross?", "another session");
    expect(next.receipt.episodes.map(({ id }) => id)).toContain(found?.id);
    await running.settle(next.conversation_id);
    expect(running.model.seen.findLast(({ body }) => body.model !== MEMORY_MODEL)?.body.messages.at(-1)?.content).toContain(
      "sold her boat",
    );
    expect(await running.episodes(crypto.randomUUID(), "Albatross boat")).toEqual([]);
    const { operations } = (await running.operations(user)).json;
    expect(operations).toMatchObject([
      { operation: "archival_insert", new_value: INSERT.arguments.content, actor: "agent", refused: null },
    ]);
  });

  test("finds in its archive what a turn would recall, in the same order", async () => {
    const said = [
      "Peanuts are in many sauces.",
      "Agnès Varda is a director whose films I watch.",
      "The director of my choir is called Tom.",
    ];
    const turns = [...said, "I watched a film by a director from Porto."].map((message) => [message, "Noted."] as const);
    const imported = await running.bring(user, importedTurns(turns));
    await running.settle(imported.conversation_id);
    running.model.seen.splice(0);
    const ranked = await running.episodes(user, "director", 3);
    expect(ranked.length).toBeGreaterThan(1);
    running.remember(callOnce({ name: "archival_search", arguments: { query: "director", limit: 3 } }));
    await running.settle((await running.say(user, "Hm.")).conversation_id);
    const found = (toldToModel()[0] ?? "").match(/(?<=^\[\d{4}-\d\d-\d\d, \w+, importance [\d.]+\]\n> ).*/gm);
    expect(found).toEqual(ranked.map(({ user_message }) => user_message));
    expect((await running.operations(user)).json.operations).toMatchObject([{ operation: "archival_search", reason: "director" }]);
  });

  test("asks a model whose context is not known for no more than 8,192 tokens, however much there is to read", async () => {
    for (const section of ["profile", "preferences", "goals"]) await running.write(user, section, "导".repeat(2_000));
    const long = Array.from({ length: 20 }, (_, number) => [`Story ${number}: ${"word ".repeat(900)}`, "word ".repeat(900)] as const);
    const imported = await running.bring(user, importedTurns(long));
    await running.settle(imported.conversation_id);
    const tokens = running.memoryRequests().map(({ body }) => body.messages.reduce((sum, { content }) => sum + estimateTokens(content), 0));
    expect(tokens.length).toBeGreaterThan(0);
    expect(Math.max(...tokens)).toBeLessThanOrEqual(8_192);
  });
});
