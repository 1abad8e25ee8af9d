import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { assertKnowledgeBase, isCourtesy, routeByWords } from "../../../nodes/routing/route-by-words.ts";
import { GENERAL, type RetrievalMode } from "../../../turn/state.ts";
import type { KnowledgeBase } from "../../../stores/knowledge-catalog.ts";
import { readRoutingTable } from "./routing-table.ts";

const base = (prefix: string, ...keywords: string[]): KnowledgeBase => ({ prefix, description: `about ${prefix}`, keywords });
const BASES = [
  base("films", "film", "movie star", "导演", "C++"),
  base("law", "contract", "合同"),
  base("rent", "contract", "rent", "iPhone手机"),
];

function decide(message: string, fields: { requested?: string; agentType?: RetrievalMode; bases?: KnowledgeBase[] } = {}) {
  const { requested = null, agentType = "hybrid_agent", bases = BASES } = fields;
  return routeByWords({ message, requested, agentType, bases }).decision;
}

describe("a route that the caller names", () => {
  test("is taken whatever the message says, with full confidence, even when it is general", () => {
    const requested = { worker_name: "law:hybrid_agent", confidence: 1, method: "requested" };
    expect(decide("Which film?", { requested: "law" })).toMatchObject({ kb_prefix: "law", ...requested });
    for (const bases of [BASES, []])
      expect(decide("Which film?", { requested: GENERAL, bases })).toMatchObject({ kb_prefix: "general", method: "requested" });
  });

  test.each(["nowhere", "Films", "film", "", " films", "films:hybrid_agent"])(
    "is refused when no knowledge base has the name %p, with the field, the value and the known names",
    (requested) => {
      const problem = `there is no knowledge base "${requested}"; known ones: general, films, law, rent`;
      const refusal = expect.objectContaining({ code: "invalid_request", details: [{ field: "kb_prefix", problem }] });
      expect(() => decide("Which film?", { requested })).toThrow(refusal);
      expect(() => assertKnowledgeBase(requested, BASES)).toThrow(refusal);
    },
  );

  test.each([null, GENERAL, "films"])("may be %p", (known) => expect(() => assertKnowledgeBase(known, BASES)).not.toThrow());
});

describe("a route by rule", () => {
  test.each([
    ["Which film did I like?", "films"],
    ["FILM!", "films"],
    ["what about that (film)", "films"],
    ["film", "films"],
    ["我想看film吗", "films"],
    ["she is a movie star", "films"],
    ["刚才提到的导演是谁？", "films"],
    ["我写C++吗", "films"],
    ["这份合同有效吗", "law"],
    ["how high is the rent", "rent"],
    ["我的IPHONE手机坏了", "rent"],
    ["films are fun", "films"],
    ["two movie stars", "films"],
    ["CONTRACTS and rents", "rent"],
    ["Is the film's end sad?", "films"],
    ["the filmmaker of the film", "films"],
  ])("finds the keyword in %p, as a whole word or its plural", (message, prefix) => {
    expect(decide(message)).toMatchObject({ kb_prefix: prefix, worker_name: `${prefix}:hybrid_agent`, method: "rule" });
  });

  test.each(["a filmmaker", "microfilm", "film_2", "the current state", "parent", "movie  star", "导 演", "filmé"])(
    "takes no part of a word in %p for the keyword",
    (message) => expect(decide(message)).toMatchObject({ kb_prefix: GENERAL, method: "default" }),
  );

  test.each<[string, string, boolean]>([
    ["flights", "a flight to Rome", true],
    ["policy", "our policies", true],
    ["policies", "our policy", true],
    ["box", "boxes", true],
    ["status", "statuses", true],
    ["IT", "ask IT please", true],
    ["VPN", "the vpn is slow", true],
    ["train", "the training was good", false],
    ["IT", "is it good", false],
    ["US", "tell us more", false],
    ["bus", "bu", false],
    ["as", "a cat", false],
    ["", "anything", false],
    [".*", "anything", false],
    ["a|b", "a", false],
  ])("tells whether the keyword %p is a word of %p: %p", (keyword, message, isFound) => {
    expect(decide(message, { bases: [base("xy", keyword)] }).method).toBe(isFound ? "rule" : "default");
  });

  test.each<[string, string, boolean]>([
    ["travel", "May I travel first class?", true],
    ["travel-rules", "our travel rules", true],
    ["差旅", "差旅问题", true],
    ["it", "is it good", false],
    ["other", "the other one", false],
    ["hr", "3 hr left", false],
  ])("takes the name of a base for a keyword unless the name is short or a common word: %p in %p, %p", (prefix, message, isFound) => {
    expect(decide(message, { bases: [base(prefix)] }).method).toBe(isFound ? "rule" : "default");
  });

  test.each<[string, string]>([
    ["What does a ticket cost?", "only"],
    ["Tell me about the trams", "only"],
    ["车票多少钱", "only"],
    ["我的狗叫小白", GENERAL],
    ["I have a dog.", GENERAL],
    ["Hi, my dog is called Rex", GENERAL],
    ["Thank you!", GENERAL],
  ])("looks into the only base for any question: %j goes to %s", (message, prefix) =>
    expect(decide(message, { bases: [base("only")] })).toMatchObject({ kb_prefix: prefix, method: "default" }),
  );

  test("prefers the knowledge base with more keywords in the message, and names these keywords", () => {
    const decision = decide("Is the rent in the contract?");
    expect(decision).toMatchObject({ kb_prefix: "rent", method: "rule", confidence: 0.9 });
    expect(decision.reason).toContain('"contract", "rent"');
  });

  test("takes the first of equal bases, with less confidence", () => {
    expect(decide("Where is the contract?")).toMatchObject({ kb_prefix: "law", confidence: 0.45, method: "rule" });
    const three = [base("a", "tea"), base("b", "tea"), base("c", "tea")];
    expect(decide("tea", { bases: three })).toMatchObject({ kb_prefix: "a", confidence: 0.3 });
  });
});

test("a route by default is general, with little confidence when there are bases to choose from and much for small talk", () => {
  const general = { kb_prefix: GENERAL, worker_name: "general:hybrid_agent", method: "default" };
  expect(decide("Why is the sky blue?")).toMatchObject({ ...general, confidence: 0.4 });
  expect(decide("Hello!")).toMatchObject({ ...general, confidence: 0.98, reason: "small talk" });
  expect(decide("Hello!", { bases: [] })).toMatchObject({ ...general, confidence: 1 });
});

test("chat_agent uses no documents unless the caller names a base", () => {
  const general = { kb_prefix: GENERAL, worker_name: "general:chat_agent", method: "rule", confidence: 1 };
  expect(decide("Which film?", { agentType: "chat_agent" })).toMatchObject(general);
  expect(decide("Hello!", { agentType: "chat_agent", requested: "films" }).worker_name).toBe("films:chat_agent");
});

test("the worker of a base is the agent of its turns, unless the caller names one", () => {
  const bases = BASES.map((one) => ({ ...one, worker: "naive_rag_agent" as const }));
  const decideFor = (agentType: RetrievalMode | null) =>
    routeByWords({ message: "Which film?", requested: null, agentType, bases }).decision;
  expect(decideFor(null).worker_name).toBe("films:naive_rag_agent");
  expect(decideFor("hybrid_agent").worker_name).toBe("films:hybrid_agent");
  expect(routeByWords({ message: "Hello!", requested: null, agentType: null, bases }).decision.worker_name).toBe("general:hybrid_agent");
});

test("any route is general or a known base, with a worker of its name and a confidence above 0 and at most 1", () => {
  const anyKeyword = fc.oneof(fc.constantFrom("film", "导演", "rent"), fc.string({ unit: "grapheme", maxLength: 5 }));
  const anyBase = fc.record({ prefix: fc.stringMatching(/^[a-z]{3,8}$/), description: fc.string(), keywords: fc.array(anyKeyword) });
  const anyBases = fc.uniqueArray(anyBase, { selector: ({ prefix }) => prefix, maxLength: 5 });
  const anyAgent = fc.constantFrom<RetrievalMode>("hybrid_agent", "naive_rag_agent", "chat_agent");
  fc.assert(
    fc.property(fc.array(anyKeyword), anyBases, anyAgent, (words, bases, agentType) => {
      const { kb_prefix, worker_name, confidence } = decide(words.join(" "), { bases, agentType });
      expect([GENERAL, ...bases.map(({ prefix }) => prefix)]).toContain(kb_prefix);
      expect(worker_name).toBe(`${kb_prefix}:${agentType}`);
      expect(confidence).toBeGreaterThan(0);
      expect(confidence).toBeLessThanOrEqual(1);
    }),
  );
});

/** Messages, " | " between two. */
const COURTESIES = `Good morning to you! | Hi there | hello, how are you? | How are you doing? | How is it going? | Nice to meet you | never mind
  | Thanks a lot | thank you so much!!! | ok | Sure, great, thanks | 👍 | See you tomorrow! | 谢谢 | 谢谢你的帮忙！ | 早上好 | 最近怎么样 | 明天见
  | 大家晚上好！ | 好的，谢谢老师 | 哈哈哈 | 嗯嗯 | 在吗？ | 明白了 thanks`;
const OTHERS = `Good morning, what is the hotel limit? | hi, the printer is broken | Thanks, and the second one? | yes, the first | 好吃吗
  | 你好，发票丢了怎么办 | 行李超重怎么办 | 早饭可以报销吗 | 谢谢，那酒店呢 | 12 | What may I spend? | What is the problem? | How do I take it?
  | What is it? | 我是老师 | 不可以带宠物 | ${"hello ".repeat(20)}`;
const messages = (list: string): string[] => list.split("|").map((message) => message.trim());

test.each(messages(COURTESIES))("%p is a courtesy", (message) => expect(isCourtesy(message)).toBe(true));

test.each(messages(OTHERS))("%p says more than a courtesy", (message) => expect(isCourtesy(message)).toBe(false));

test("no question for a base is taken for a courtesy", async () => {
  const { questions } = await readRoutingTable();
  expect(questions.filter(({ text, gold }) => gold !== "general" && isCourtesy(text))).toEqual([]);
});
