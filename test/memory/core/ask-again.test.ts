import { describe, expect, test } from "@jest/globals";
import { makeDecideWithModel } from "../../../memory/core/decide-with-model.ts";
import { createOpenAIChatModel } from "../../../models/openai-chat-model.ts";
import { type Happening, NOOP_OBSERVER } from "../../../observe/observer.ts";
import type { ToolCall } from "../../../memory/core/tool-schemas.ts";
import type { SectionWithLines } from "../../../stores/postgres/memory/core-memory-store.ts";
import type { ModelScript } from "../../servers/model-server.ts";
import { storedSection, turnToRead, update, workingMemory } from "../../support/samples/sample-agent.ts";
import { PATIENT, useModelServer } from "../../support/services/use-model-server.ts";

const PROFILE = storedSection();
const DONE: ModelScript = { tokens: ["nothing ", "to do"] };

describe("a model that keeps nothing of a plain fact", () => {
  const server = useModelServer();
  const signal = new AbortController().signal;

  function decider() {
    const told: Happening[] = [];
    const observer = { ...NOOP_OBSERVER, tell: (happening: Happening) => void told.push(happening) };
    const model = createOpenAIChatModel({ model: "test-memory", baseUrl: server.url });
    const decide = makeDecideWithModel({ model, timeouts: PATIENT, readingTokens: 2_000, observer });
    return {
      told,
      read: async (message: string) => {
        const memory = workingMemory({ sections: [PROFILE], allowed: ["profile", "preferences"] });
        await decide({ memory, turns: [turnToRead(message)], sections: ["profile", "preferences"], newestIn: new Map() }, signal);
        return memory.contents()["profile"];
      },
    };
  }

  const said = (choice: string, section = "", content = ""): ModelScript => ({ tokens: [JSON.stringify({ choice, section, content })] });
  const KEPT = "Name: Ada\nHas moved to Porto";
  const UNFIT = [{ happened: "model_unfit", purpose: "memory", problem: "keeps_nothing" }];

  test.each<[string, ModelScript[], number]>([
    ["when it must call a tool", [DONE, { toolCalls: [update("profile", KEPT)] }], 2],
    ["when it must answer in JSON", [DONE, DONE, said("core_memory_update", "profile", KEPT)], 3],
    ["also behind a server that takes no demand for a tool", [DONE, { status: 400 }, said("core_memory_update", "profile", KEPT)], 3],
  ])("keeps it %s", async (_when, scripts, requests) => {
    server.answerInTurn(...scripts);
    const { read, told } = decider();
    expect(await read("I moved to Porto.")).toBe(KEPT);
    expect(told).toEqual([]);
    const bodies = server.seen.map(({ body }) => body as unknown as Record<string, unknown>);
    expect(bodies).toHaveLength(requests);
    expect(bodies[1]).toMatchObject({ tool_choice: "required" });
    if (bodies[2]) expect(bodies[2]).toMatchObject({ response_format: { type: "json_schema", json_schema: { strict: true } } });
  });

  test.each<[string, ModelScript]>([
    ["says nothing", said("nothing")],
    ["forgets the other lines", said("core_memory_update", "profile", "Lives in Porto.")],
    ["writes something else", said("core_memory_update", "profile", "Name: Ada\nA German Shepherd")],
    ["writes into another section", said("core_memory_update", "preferences", "A German Shepherd")],
    ["writes no JSON", { tokens: ["Sterbe, hmm"] }],
  ])("and then %s leaves it to the rules, which is said", async (_what, script) => {
    server.answerInTurn(DONE, DONE, script);
    const { read, told } = decider();
    expect(await read("I moved to Porto.")).toBe("Name: Ada\nLives in Porto.");
    expect(told).toEqual(UNFIT);
  });

  test("that it has kept others before and chooses nothing now changes nothing: the rules keep the fact", async () => {
    const { read, told } = decider();
    server.answerInTurn({ toolCalls: [update("profile", KEPT)] }, DONE, DONE, { toolCalls: [{ name: "nothing", arguments: {} }] });
    expect(await read("I moved to Porto.")).toBe(KEPT);
    expect(await read("I moved to Lisbon.")).toBe("Name: Ada\nLives in Lisbon.");
    expect(told).toEqual(UNFIT);
  });

  test("is not asked again about what is no plain fact, or known", async () => {
    server.answer(DONE);
    const { read } = decider();
    await read("What is the weather like in Porto?");
    await read("My name is Ada.");
    expect(server.seen).toHaveLength(2);
  });
});

describe("a model whose calls keep a plain fact wrongly", () => {
  const server = useModelServer();
  const signal = new AbortController().signal;
  const cilantro = storedSection({ section: "preferences", content: "Dislikes cilantro.\nLikes jazz." });
  const home = storedSection({ content: "Name: Ada\nLives in Lisbon." });

  async function read(messages: string[], calls: ToolCall[], known: SectionWithLines) {
    const told: Happening[] = [];
    server.answerInTurn({ toolCalls: calls }, DONE);
    const observer = { ...NOOP_OBSERVER, tell: (happening: Happening) => void told.push(happening) };
    const model = createOpenAIChatModel({ model: "test-memory", baseUrl: server.url });
    const sections = ["profile", "preferences", "constraints"];
    const memory = workingMemory({ sections: [known], allowed: sections });
    const turns = messages.map((message, index) => turnToRead(message, index + 1));
    const decide = makeDecideWithModel({ model, timeouts: PATIENT, readingTokens: 2_000, observer });
    await decide({ memory, turns, sections, newestIn: new Map() }, signal);
    expect(server.seen).toHaveLength(2);
    return { contents: memory.contents(), misses: told.length, changes: memory.result().changes };
  }

  const NOW = "Actually, I love cilantro now.";
  test.each<[string, string[], SectionWithLines, ToolCall[], Record<string, string>]>([
    [
      "leave the old line",
      [NOW],
      cilantro,
      [update("constraints", "A cook.")],
      { constraints: "A cook.", preferences: "Likes cilantro.\nLikes jazz." },
    ],
    [
      "write the opposite in their own words",
      [NOW],
      cilantro,
      [update("preferences", "Likes jazz.\nUser still hates the taste of cilantro.")],
      { preferences: "Likes jazz.\nLikes cilantro." },
    ],
    [
      "write the opposite into another section",
      [NOW],
      cilantro,
      [update("constraints", "Vegan.\nCan not stand cilantro.")],
      { constraints: "Vegan.", preferences: "Likes cilantro.\nLikes jazz." },
    ],
    [
      "leave what the model once wrote in its own words",
      ["I moved to Porto."],
      storedSection({ content: "Name: Ada\nThe user lives in Lisbon." }),
      [update("preferences", "Likes trams.")],
      { profile: "Name: Ada\nLives in Porto.", preferences: "Likes trams." },
    ],
    [
      "leave a thing of the user's as it was",
      ["My dentist is on Friday instead."],
      storedSection({ content: "Name: Ada\nThe user's dentist is on Tuesday.\nDentist is on Tuesday." }),
      [update("preferences", "Likes dentists.")],
      { profile: "Name: Ada\nDentist is on Friday.", preferences: "Likes dentists." },
    ],
    [
      "write another number",
      ["Remember that my flight leaves at 8 pm."],
      home,
      [update("profile", `${home.content}\nThe flight leaves at 6 pm.`)],
      { profile: `${home.content}\nThe flight leaves at 6 pm.\nAsked to remember: my flight leaves at 8 pm.` },
    ],
    [
      "forget a fact of two",
      ["My name is Anna. I moved to Porto."],
      home,
      [update("profile", "Name: Anna\nLives in Lisbon.")],
      { profile: "Name: Anna\nLives in Porto." },
    ],
    [
      "说反了",
      ["我现在喜欢香菜了。"],
      storedSection({ section: "preferences", content: "用户讨厌香菜。" }),
      [update("preferences", "用户不爱吃香菜。")],
      { preferences: "喜欢香菜。" },
    ],
  ])("that %s has the rules' fact in the end, and it is said", async (_what, messages, known, calls, expected) => {
    const { contents, misses } = await read(messages, calls, known);
    expect({ ...contents }).toEqual(known.section in expected ? expected : { [known.section]: known.content, ...expected });
    expect(misses).toBe(1);
  });

  test.each<[string, string[], SectionWithLines, ToolCall[]]>([
    ["in other words", [NOW], cilantro, [update("preferences", "Has come to love cilantro\nLikes jazz.")]],
    [
      "beside a dislike, in one line",
      ["Actually I am tired of science fiction, I like documentaries now."],
      storedSection({ section: "preferences", content: "Likes science fiction." }),
      [update("preferences", "Dislikes science fiction, horror and gore now; likes documentaries.")],
    ],
    [
      "和讨厌的写在一行",
      ["我不喜欢茶，喜欢咖啡"],
      storedSection({ section: "preferences", content: "喜欢茶。" }),
      [update("preferences", "讨厌茶，爱喝咖啡。")],
    ],
    ["and more", ["I moved to Porto."], home, [update("profile", "Name: Ada\nMoved to Porto, works at a hospital")]],
    ["in another section", ["I hate dill."], home, [update("constraints", "Avoids dill")]],
    ["of two turns the last", ["I hate dill.", "Actually, I love dill now."], home, [update("preferences", "Loves dill now")]],
    ["用自己的话", ["我搬到杭州了。"], storedSection({ content: "住在上海。" }), [update("profile", "已搬到杭州")]],
  ])("one that keeps it %s is left alone", async (_what, messages, known, calls) => {
    const { contents, misses } = await read(messages, calls, known);
    const { section, content } = calls[0]?.arguments as { section: string; content: string };
    expect(contents).toEqual({ [known.section]: known.content, [section]: content });
    expect(misses).toBe(0);
  });

  test("the fact that the rules keep rests on its own turn alone", async () => {
    const { changes } = await read(["I like tea.", NOW], [update("preferences", "Likes tea.\nHates cilantro.\nLikes jazz.")], cilantro);
    const lines = changes.findLast(({ section }) => section === "preferences")?.lineChange?.lines;
    expect(lines?.find(({ content }) => content === "Likes cilantro.")?.triggerMessageIds).toEqual([turnToRead("", 2).messageId]);
  });
});
