import { beforeEach, describe, expect, test } from "@jest/globals";
import { setTimeout as sleep } from "node:timers/promises";
import { startTurn, type LastEvent } from "../../graph/start-turn.ts";
import type { TurnInput } from "../../turn/turn-input.ts";
import type { FindPassages, FoundPassages } from "../../memory/documents/find-passages.ts";
import { makeKnowledgeHandlers, type KnowledgeHandler } from "../../nodes/generate-kb.ts";
import { makeFixedKnowledgeCatalog } from "../../stores/knowledge-catalog.ts";
import { eventsOf, useGraphWithModel } from "../support/services/graph-with-model.ts";

const knowledge = makeFixedKnowledgeCatalog([
  { prefix: "prices", description: "Price list", keywords: ["price"] },
  { prefix: "travel", description: "Travel rules", keywords: ["hotel"] },
]);

describe("a knowledge base with a handler of its own", () => {
  const opened = useGraphWithModel({ knowledge });
  beforeEach(() => opened.server.answer({ tokens: ["general ", "answer"] }));

  /** One turn that is routed to `prices`: its notices, its end and the text of its tokens; `said` has all events. */
  async function ask(
    handler: KnowledgeHandler,
    { message = "What is the price?", idleMs = 30_000, ...fields }: Partial<TurnInput> & { idleMs?: number } = {},
  ): Promise<{ notices: string[]; last: LastEvent; streamed: string; said: string }> {
    const handlers = makeKnowledgeHandlers();
    handlers.registerKnowledgeHandler("prices", handler);
    const graph = opened.makeGraph({ handlers, timeouts: { firstTokenMs: idleMs, idleMs } });
    const turn = startTurn(graph, { userId: "ada", sessionId: crypto.randomUUID(), message, ...fields });
    const events = await eventsOf(turn);
    const streamed = events.flatMap((event) => (event.status === "token" ? [event.content] : [])).join("");
    const notices = events.flatMap((event) => (event.status === "notice" ? [event.content.code] : []));
    return { notices, last: await turn.ended, streamed, said: JSON.stringify(events) };
  }

  test("answers with the handler's tokens, which are streamed and stored, asks no model, and times generate_kb", async () => {
    const { last, streamed, notices } = await ask(async ({ state, stream }) => {
      stream(`You asked: ${state.message} `);
      stream("7.50 euros");
      return { rest: "." };
    });
    expect(streamed).toBe("You asked: What is the price? 7.50 euros.");
    expect(last).toMatchObject({ status: "done", content: { answer: streamed, completed: true, usage: { estimated: true } } });
    expect(last.status === "done" && Object.keys(last.content.timings.nodes)).toEqual(expect.arrayContaining(["generate_kb"]));
    expect(notices).toEqual([]);
    expect(opened.server.seen).toHaveLength(0);
  });

  test("names in the receipt the passages that its answer rests on", async () => {
    const passage = { id: "chunk", documentId: "document", title: "Price list", heading: "", text: "7.50", score: 2 };
    const { last } = await ask(async () => ({ rest: "7.50", passages: [passage] }));
    const passages = [{ id: "chunk", document_id: "document", title: "Price list", heading: "", score: 2 }];
    expect(last).toMatchObject({ content: { receipt: { passages } } });
  });

  test("finds more passages for its handler, and answers by the general generator when documents cannot be searched", async () => {
    const handlers = makeKnowledgeHandlers();
    handlers.registerKnowledgeHandler("prices", async ({ tools }) => {
      const found = [...(await tools.findPassages("screws", 1)), ...(await tools.findPassages("nails"))];
      return { rest: found.map(({ text }) => text).join() };
    });
    const answerWith = async (found: Partial<FoundPassages> | null) => {
      const asked: string[] = [];
      const find: FindPassages = async ({ prefix, question, limit }) => {
        asked.push(`${prefix}: ${question}, ${limit}`);
        return { passages: [], degraded: false, ...found };
      };
      const graph = opened.makeGraph({ handlers, documents: found && { find, topK: 7 } });
      const turn = startTurn(graph, { userId: "ada", sessionId: crypto.randomUUID(), message: "What is the price?" });
      const last = await turn.ended;
      return {
        asked: asked.filter((line) => !line.includes("What is")),
        answer: last.status === "done" ? last.content.answer : last.status === "error" ? last.content.code : last.status,
      };
    };
    const passage = { id: "chunk", documentId: "document", title: "Price list", heading: "", text: "7.50", score: 2, indexedAt: "" };
    expect(await answerWith({ passages: [passage as never], degraded: true })).toEqual({
      asked: ["prices: screws, 1", "prices: nails, 7"],
      answer: "7.50,7.50",
    });
    expect((await answerWith({ degraded: true })).answer).toBe("general answer");
    expect((await answerWith(null)).answer).toBe("general answer");
  });

  test.each<[string, KnowledgeHandler]>([
    ["throws", () => Promise.reject(new Error("no such article"))],
    ["throws before it returns a promise", () => { throw new TypeError("broken"); }], // prettier-ignore
    ["says nothing", async () => undefined],
  ])("that %s answers by the general generator instead, with a notice", async (_, handler) => {
    const { last, streamed, notices, said } = await ask(handler);
    expect(notices).toEqual(["handler_failed"]);
    expect(streamed).toBe("general answer");
    expect(last).toMatchObject({ status: "done", content: { answer: "general answer", completed: true } });
    expect(said).not.toMatch(/no such article|TypeError/);
  });

  test("that fails in the middle has the general answer after what was streamed, just as the client saw it", async () => {
    const { last, streamed } = await ask(async ({ stream }) => {
      stream("Let me see:");
      throw new Error("broken");
    });
    expect(streamed).toBe("Let me see:\n\ngeneral answer");
    expect(last).toMatchObject({ content: { answer: streamed, completed: true } });
  });

  test("that hangs is given up after the deadline of an answer, and its late words are dropped", async () => {
    let late: ((token: string) => void) | undefined;
    const { last, streamed, notices } = await ask(
      async ({ stream }) => {
        late = stream;
        await new Promise(() => undefined);
      },
      { idleMs: 200 },
    );
    late?.("too late");
    expect(notices).toEqual(["handler_failed"]);
    expect(streamed).toBe("general answer");
    expect(last.status).toBe("done");
  });

  test("that is cancelled keeps what was said as incomplete, and asks no model", async () => {
    const handlers = makeKnowledgeHandlers();
    const begun = Promise.withResolvers<AbortSignal>();
    handlers.registerKnowledgeHandler("prices", async ({ stream, signal }) => {
      stream("half ");
      begun.resolve(signal);
      await sleep(30_000, undefined, { signal });
    });
    const turn = startTurn(opened.makeGraph({ handlers }), { userId: "ada", sessionId: "cancelled", message: "What is the price?" });
    const signal = await begun.promise;
    turn.cancel();
    expect(await turn.ended).toMatchObject({ status: "error", content: { code: "turn_cancelled" } });
    expect(signal.aborted).toBe(true);
    const rows = await opened.database.query({ text: "select content, completed from messages where content = 'half '" });
    expect(rows).toEqual([{ content: "half ", completed: false }]);
    expect(opened.server.seen).toHaveLength(0);
  });

  test("answers only questions of its own base", async () => {
    const { last } = await ask(async () => ({ rest: "mine" }), { message: "Which hotel?" });
    expect(last).toMatchObject({ content: { answer: "general answer" } });
  });
});
