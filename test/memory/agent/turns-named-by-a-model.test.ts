import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { makeDecideWithModel } from "../../../memory/agent/decide-with-model.ts";
import { createOpenAIChatModel } from "../../../models/openai-chat-model.ts";
import { startModelServer, type ModelServer } from "../../servers/model-server.ts";
import { storedSection, turnToRead, workingMemory } from "../../support/samples/sample-agent.ts";

describe("the turns that a model names for the lines of a section", () => {
  let server: ModelServer;
  beforeAll(async () => {
    server = await startModelServer();
  });
  afterAll(() => server.close());
  beforeEach(() => void server.seen.splice(0));

  const call = (content: string, turns?: unknown) => ({ name: "core_memory_update", arguments: { section: "profile", content, turns } });
  const together = [
    turnToRead("我的猫叫 Minka。", 1, { actor: "import" }),
    turnToRead("I want to sail.", 2),
    turnToRead("I live in Porto.", 3),
  ];
  /** Numbers of the turns that each line of the last change rests on. */
  async function restingOn(...calls: { name: string; arguments: unknown }[]) {
    server.answer(() => (server.seen.length === 1 ? { toolCalls: calls } : { tokens: ["Done."] }));
    const model = createOpenAIChatModel({ model: "test-memory", baseUrl: server.url });
    const decide = makeDecideWithModel({ model, timeouts: { firstTokenMs: 20_000, idleMs: 20_000 }, readingTokens: 2_000 });
    const memory = workingMemory({ sections: [storedSection()] });
    await decide({ memory, turns: together, sections: ["profile", "goals"], newestIn: new Map() }, new AbortController().signal);
    const { changes } = memory.result();
    const numberOf = (id: string): number => together.findIndex(({ messageId }) => messageId === id) + 1;
    const change = changes.at(-1);
    const lines = change?.lineChange?.lines.map((line) => line.triggerMessageIds.map(numberOf));
    return { lines, change: change?.triggerMessageIds.map(numberOf), saidAt: change?.saidAt, actor: change?.actor };
  }

  test("numbers the turns in its prompt, and lays each line to those that the model names", async () => {
    const { lines, change, saidAt, actor } = await restingOn(call("Has a cat called Minka\nWants to sail from Porto", [[1], [2, 3]]));
    expect({ lines, change }).toEqual({ lines: [[1], [2, 3]], change: [1, 2, 3] });
    expect({ saidAt, actor }).toEqual({ saidAt: together[2]?.saidAt, actor: "agent" });
    expect(server.seen[0]?.body.messages[1]?.content).toMatch(/Turn 1, said on [^]*Minka[^]*Turn 2, said on [^]*sail[^]*Turn 3, said on/);
  });

  test("lays a line for which no turn is named to all that were read, whatever words they have in common", async () => {
    expect(await restingOn(call("Has a cat called Minka\nWants to sail"))).toMatchObject({
      lines: [
        [1, 2, 3],
        [1, 2, 3],
      ],
    });
  });

  test("is told by a call of one turn whose it is: the time and the actor of that turn", async () => {
    const { saidAt, actor } = await restingOn(call("Has a cat called Minka", [[1]]));
    expect({ saidAt, actor }).toEqual({ saidAt: together[0]?.saidAt, actor: "import" });
  });

  test("refuses turns that it cannot understand, and says what to do; the next call may be right", async () => {
    const calls = [
      call("Wants to sail", [[4]]),
      call("Wants to sail\nLives in Porto\nHas a cat", [[2], [3]]),
      call("Wants to sail", [[2]]),
    ];
    expect(await restingOn(...calls)).toMatchObject({ lines: [[2]] });
    expect(server.seen[1]?.body.messages.flatMap(({ role, content }) => (role === "tool" ? [content] : []))).toEqual([
      expect.stringMatching(/^Refused: turns: there is no turn 4. They are numbered 1 to 3/),
      expect.stringMatching(/^Refused: turns: has 2 lists, and the content 3 lines. Give one list/),
      expect.stringMatching(/now has this content/),
    ]);
  });
});
