import { describe, expect, test } from "@jest/globals";
import { makeDecideWithModel } from "../../../memory/agent/decide-with-model.ts";
import { createOpenAIChatModel } from "../../../models/openai-chat-model.ts";
import { type Happening, NOOP_OBSERVER } from "../../../observe/observer.ts";
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
        const memory = workingMemory({ sections: [PROFILE] });
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
    ["writes no JSON", { tokens: ["Sterbe, hmm"] }],
  ])("and then %s leaves it to the rules, which is said", async (_what, script) => {
    server.answerInTurn(DONE, DONE, script);
    const { read, told } = decider();
    expect(await read("I moved to Porto.")).toBe("Name: Ada\nLives in Porto.");
    expect(told).toEqual(UNFIT);
  });

  test("is believed when it has kept something before and chooses nothing", async () => {
    const { read, told } = decider();
    server.answerInTurn({ toolCalls: [update("profile", KEPT)] }, DONE, DONE, { toolCalls: [{ name: "nothing", arguments: {} }] });
    expect(await read("I moved to Porto.")).toBe(KEPT);
    expect(await read("I moved to Lisbon.")).toBe("Name: Ada");
    expect(told).toEqual([]);
  });

  test("is not asked again about what is no plain fact, or known", async () => {
    server.answer(DONE);
    const { read } = decider();
    await read("What is the weather like in Porto?");
    await read("My name is Ada.");
    expect(server.seen).toHaveLength(2);
  });
});
