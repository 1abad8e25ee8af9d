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
  ])("keeps it when asked again %s", async (_when, scripts, requests) => {
    server.answerInTurn(...scripts);
    const { read, told } = decider();
    expect(await read("I moved to Porto.")).toBe(KEPT);
    expect(told).toEqual([]);
    const bodies = server.seen.map(({ body }) => body as unknown as Record<string, unknown>);
    expect(bodies).toHaveLength(requests);
    expect(bodies[1]).toMatchObject({ tool_choice: "required" });
    if (bodies[2]) expect(bodies[2]).toMatchObject({ response_format: { type: "json_schema", json_schema: { strict: true } } });
  });

  test.each<[string, ModelScript[]]>([
    ["says nothing", [DONE, said("nothing")]],
    ["chooses nothing by a call", [{ toolCalls: [{ name: "nothing", arguments: {} }] }]],
    ["forgets the other lines", [DONE, said("core_memory_update", "profile", "Lives in Porto.")]],
    ["forgets them by a call", [{ toolCalls: [update("profile", "Lives in Porto.")] }]],
    ["writes something else", [DONE, said("core_memory_update", "profile", "Name: Ada\nA German Shepherd")]],
    ["writes into another section", [DONE, said("core_memory_update", "preferences", "A German Shepherd")]],
    ["names a section that there is not", [DONE, said("core_memory_update", "town", "Lives in Porto.")]],
    ["writes no JSON", [DONE, { tokens: ["Sterbe, hmm"] }]],
  ])("has its way when it insists and %s: nothing is written, and that is reported", async (_what, scripts) => {
    server.answerInTurn(DONE, ...scripts);
    const { read, told } = decider();
    expect(await read("I moved to Porto.")).toBe(PROFILE.content);
    expect(told).toEqual(UNFIT);
    expect(server.seen).toHaveLength(scripts.length + 1);
  });

  test("is told in a record what core memory lacks", async () => {
    server.answer(DONE);
    await decider().read("I moved to Porto.");
    for (const { body } of server.seen.slice(1))
      expect(body.messages.at(-1)?.content).toContain("<core_memory>\n[profile] does not say:\n> Lives in Porto.\n</core_memory>");
  });

  test("is not asked again about something that is no plain fact, or is known", async () => {
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

  async function read(
    messages: string[],
    calls: ToolCall[],
    known: SectionWithLines,
    again: ToolCall[] = [{ name: "nothing", arguments: {} }],
  ) {
    const told: Happening[] = [];
    server.seen.splice(0);
    server.answerInTurn({ toolCalls: calls }, DONE, { toolCalls: again });
    const observer = { ...NOOP_OBSERVER, tell: (happening: Happening) => void told.push(happening) };
    const model = createOpenAIChatModel({ model: "test-memory", baseUrl: server.url });
    const sections = ["profile", "preferences", "constraints"];
    const memory = workingMemory({ sections: [known], allowed: sections });
    const turns = messages.map((message, index) => turnToRead(message, index + 1));
    const decide = makeDecideWithModel({ model, timeouts: PATIENT, readingTokens: 2_000, observer });
    await decide({ memory, turns, sections, newestIn: new Map() }, signal);
    const asked = server.seen.at(2)?.body.messages.at(-1)?.content;
    return { contents: memory.contents(), told, asked, changes: memory.result().changes };
  }

  /** What core memory is when the calls have been done. */
  const after = ({ section, content }: SectionWithLines, ...calls: ToolCall[]): Record<string, string> =>
    calls.reduce(
      (contents, { arguments: given }) => {
        const written = given as { section: string; content: string };
        return { ...contents, [written.section]: written.content };
      },
      { [section]: content },
    );

  const NOW = "Actually, I love cilantro now.";
  const MISSES = [{ happened: "model_unfit", purpose: "memory", problem: "misses_facts" }];
  test.each<[string, string[], SectionWithLines, ToolCall[], string, ToolCall[]]>([
    [
      "leave the old line",
      [NOW],
      cilantro,
      [update("constraints", "A cook.")],
      "[preferences] still says:\n> Dislikes cilantro.",
      [update("preferences", "Likes jazz.\nLoves cilantro now")],
    ],
    [
      "write the opposite in their own words",
      [NOW],
      cilantro,
      [update("preferences", "Likes jazz.\nUser still hates the taste of cilantro.")],
      "[preferences] says the opposite of it:\n> User still hates the taste of cilantro.",
      [update("preferences", "Likes jazz.\nLikes cilantro.")],
    ],
    [
      "write the opposite into another section",
      [NOW],
      cilantro,
      [update("constraints", "Vegan.\nCan not stand cilantro.")],
      "[constraints] says the opposite of it:\n> Can not stand cilantro.",
      [update("constraints", "Vegan."), update("preferences", "Likes cilantro.\nLikes jazz.")],
    ],
    [
      "leave what the model once wrote in its own words",
      ["I moved to Porto."],
      storedSection({ content: "Name: Ada\nThe user lives in Lisbon." }),
      [update("preferences", "Likes trams.")],
      "[profile] still says:\n> The user lives in Lisbon.",
      [update("profile", "Name: Ada\nThe user lives in Porto.")],
    ],
    [
      "write another number",
      ["Remember that my flight leaves at 8 pm."],
      home,
      [update("profile", `${home.content}\nThe flight leaves at 6 pm.`)],
      "[profile] does not say:\n> Asked to remember: my flight leaves at 8 pm.",
      [update("profile", `${home.content}\nThe flight leaves at 8 pm.`)],
    ],
    [
      "forget a fact of two",
      ["My name is Anna. I moved to Porto."],
      home,
      [update("profile", "Name: Anna\nLives in Lisbon.")],
      "[profile] does not say:\n> Lives in Porto.",
      [update("profile", "Name: Anna\nLives in Porto.")],
    ],
    [
      "说反了",
      ["我现在喜欢香菜了。"],
      storedSection({ section: "preferences", content: "用户讨厌香菜。" }),
      [update("preferences", "用户不爱吃香菜。")],
      "[preferences] says the opposite of it:\n> 用户不爱吃香菜。",
      [update("preferences", "用户喜欢香菜。")],
    ],
  ])(
    "that %s is told so: its correction counts, or its first words if it insists",
    async (_what, messages, known, calls, named, better) => {
      const corrected = await read(messages, calls, known, better);
      expect(corrected.asked).toContain(named);
      expect(corrected.contents).toEqual(after(known, ...calls, ...better));
      expect(corrected.told).toEqual([]);

      const insisted = await read(messages, calls, known);
      expect(insisted.contents).toEqual(after(known, ...calls));
      expect(insisted.told).toEqual(MISSES);
    },
  );

  test("keeps its first words when its correction drops a line that nobody took back", async () => {
    const { contents, told } = await read([NOW], [update("constraints", "A cook.")], cilantro, [update("preferences", "Likes cilantro.")]);
    expect(contents).toEqual({ constraints: "A cook.", preferences: cilantro.content });
    expect(told).toEqual(MISSES);
  });

  test("keeps a correction that says one of two facts", async () => {
    const half = update("profile", "Name: Anna\nLives in Lisbon.");
    const { contents, told } = await read(["My name is Anna. I moved to Porto."], [update("preferences", "Likes trams.")], home, [half]);
    expect(contents).toEqual({ preferences: "Likes trams.", profile: "Name: Anna\nLives in Lisbon." });
    expect(told).toEqual(MISSES);
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
  ])("is left alone when it keeps it %s", async (_what, messages, known, calls) => {
    const { contents, told } = await read(messages, calls, known);
    expect(contents).toEqual(after(known, ...calls));
    expect(told).toEqual([]);
    expect(server.seen).toHaveLength(2);
  });

  test("gets a line that rests on one turn alone when its correction names that turn", async () => {
    const first = update("preferences", "Likes tea.\nHates cilantro.\nLikes jazz.");
    const better = update("preferences", "Likes tea.\nLikes cilantro.\nLikes jazz.");
    const named = { ...better, arguments: { ...(better.arguments as object), turns: [[], [2], []] } };
    const { changes } = await read(["I like tea.", NOW], [first], cilantro, [named]);
    const lines = changes.findLast(({ section }) => section === "preferences")?.lineChange?.lines;
    expect(lines?.find(({ content }) => content === "Likes cilantro.")?.triggerMessageIds).toContain(turnToRead("", 2).messageId);
  });
});
