import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { AgentType } from "../../../turn/state.ts";
import { assertKnowledgeBase, GENERAL, routeByWords } from "../../../nodes/routing/route-by-words.ts";
import type { KnowledgeBase } from "../../../stores/knowledge-catalog.ts";

const base = (prefix: string, ...keywords: string[]): KnowledgeBase => ({ prefix, description: `about ${prefix}`, keywords });
const BASES = [
  base("films", "film", "movie star", "导演", "C++"),
  base("law", "contract", "合同"),
  base("rent", "contract", "rent", "iPhone手机"),
];

function decide(message: string, fields: { requested?: string; agentType?: AgentType; bases?: KnowledgeBase[] } = {}) {
  const { requested = null, agentType = "hybrid_agent", bases = BASES } = fields;
  return routeByWords({ message, requested, agentType, bases }).decision;
}

describe("a route that the caller names", () => {
  test("is taken whatever the message says, with full confidence", () => {
    expect(decide("Which film?", { requested: "law" })).toMatchObject({
      kb_prefix: "law",
      worker_name: "law:hybrid_agent",
      confidence: 1,
      method: "requested",
    });
  });

  test("may be general, which always exists", () => {
    expect(decide("Which film?", { requested: GENERAL })).toMatchObject({ kb_prefix: "general", method: "requested" });
    expect(decide("Which film?", { requested: GENERAL, bases: [] })).toMatchObject({ kb_prefix: "general", method: "requested" });
  });

  test.each(["nowhere", "Films", "film", "", " films", "films:hybrid_agent"])(
    "is refused when there is no such knowledge base: %p, and the refusal names the field, the value and the known ones",
    (requested) => {
      let refusal: unknown;
      try {
        decide("Which film?", { requested });
      } catch (error) {
        refusal = error;
      }
      const problem = `there is no knowledge base "${requested}"; known ones: general, films, law, rent`;
      expect(refusal).toMatchObject({ code: "invalid_request", details: [{ field: "kb_prefix", problem }] });
    },
  );

  test("is checked before the turn in the same way", () => {
    expect(() => assertKnowledgeBase("nowhere", BASES)).toThrow('kb_prefix: there is no knowledge base "nowhere"');
    for (const known of [null, GENERAL, "films"]) expect(() => assertKnowledgeBase(known, BASES)).not.toThrow();
  });
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
  ])("finds the keyword in %p", (message, prefix) => {
    expect(decide(message)).toMatchObject({ kb_prefix: prefix, worker_name: `${prefix}:hybrid_agent`, method: "rule" });
  });

  test.each([
    ["films are fun", "films"],
    ["two movie stars", "films"],
    ["CONTRACTS and rents", "rent"],
    ["Is the film's end sad?", "films"],
  ])("takes the English plural for the keyword: %p", (message, prefix) => {
    expect(decide(message)).toMatchObject({ kb_prefix: prefix, method: "rule" });
  });

  test.each([
    ["flights", "a flight to Rome"],
    ["policy", "our policies"],
    ["policies", "our policy"],
    ["box", "boxes"],
    ["status", "statuses"],
    ["IT", "ask IT please"],
    ["VPN", "the vpn is slow"],
  ])("takes the keyword %p for a word of %p", (keyword, message) => {
    expect(decide(message, { bases: [base("x", keyword)] })).toMatchObject({ kb_prefix: "x", method: "rule" });
  });

  test.each([
    ["train", "the training was good"],
    ["IT", "is it good"],
    ["US", "tell us more"],
    ["bus", "bu"],
    ["as", "a cat"],
  ])("does not take the keyword %p for a word of %p", (keyword, message) => {
    expect(decide(message, { bases: [base("x", keyword)] })).toMatchObject({ kb_prefix: GENERAL });
  });

  test.each([
    ["travel", "May I travel first class?"],
    ["travel-rules", "our travel rules"],
    ["差旅", "差旅问题"],
  ])("takes the name of a base for one of its keywords: %p", (prefix, message) => {
    expect(decide(message, { bases: [base(prefix)] })).toMatchObject({ kb_prefix: prefix, method: "rule" });
  });

  test.each([
    ["it", "is it good"],
    ["other", "the other one"],
    ["hr", "3 hr left"],
  ])("does not when the name is short or says nothing: %p", (prefix, message) => {
    expect(decide(message, { bases: [base(prefix)] })).toMatchObject({ kb_prefix: GENERAL });
  });

  test.each(["a filmmaker", "microfilm", "film_2", "the current state", "parent", "movie  star", "导 演", "filmé"])(
    "takes no part of a word for the keyword: %p",
    (message) => {
      expect(decide(message)).toMatchObject({ kb_prefix: GENERAL, method: "default" });
    },
  );

  test("finds the whole word behind one that only contains it", () => {
    expect(decide("the filmmaker of the film").kb_prefix).toBe("films");
  });

  test("prefers the knowledge base with more keywords in the message, and says which they are", () => {
    const decision = decide("Is the rent in the contract?");
    expect(decision).toMatchObject({ kb_prefix: "rent", method: "rule", confidence: 0.9 });
    expect(decision.reason).toContain('"contract", "rent"');
  });

  test("takes the first of equals, with less confidence", () => {
    expect(decide("Where is the contract?")).toMatchObject({ kb_prefix: "law", confidence: 0.45, method: "rule" });
    const three = [base("a", "tea"), base("b", "tea"), base("c", "tea")];
    expect(decide("tea", { bases: three })).toMatchObject({ kb_prefix: "a", confidence: 0.3 });
  });

  test("does not let an empty keyword match everything", () => {
    expect(decide("anything", { bases: [base("greedy", "")] })).toMatchObject({ kb_prefix: GENERAL, method: "default" });
  });

  test("takes keywords literally, not as patterns", () => {
    expect(decide("anything", { bases: [base("greedy", ".*", "a|b", "[a-z]+")] })).toMatchObject({ method: "default" });
  });
});

describe("a route by default", () => {
  test("is general, with little confidence when there were others to choose from, and much for small talk", () => {
    const general = { kb_prefix: GENERAL, worker_name: "general:hybrid_agent", method: "default" };
    expect(decide("Why is the sky blue?")).toMatchObject({ ...general, confidence: 0.4 });
    expect(decide("Hello!")).toMatchObject({ ...general, confidence: 0.98, reason: "small talk" });
    expect(decide("Hello!", { bases: [] })).toMatchObject({ kb_prefix: GENERAL, confidence: 1, method: "default" });
  });
});

describe("the agent type", () => {
  test.each<AgentType>(["hybrid_agent", "naive_rag_agent"])("%p searches documents and is named in the worker", (agentType) => {
    expect(decide("Which film?", { agentType })).toMatchObject({ kb_prefix: "films", worker_name: `films:${agentType}` });
  });

  test("chat_agent uses no documents by itself, unless the caller names them", () => {
    expect(decide("Which film?", { agentType: "chat_agent" })).toMatchObject({
      kb_prefix: GENERAL,
      worker_name: "general:chat_agent",
      method: "rule",
      confidence: 1,
    });
    expect(decide("Hello!", { agentType: "chat_agent", requested: "films" }).worker_name).toBe("films:chat_agent");
  });
});

test("property: a route is always general or a known base, with a worker of its name and a confidence in (0, 1]", () => {
  const anyKeyword = fc.oneof(fc.constantFrom("film", "导演", "rent"), fc.string({ unit: "grapheme", maxLength: 5 }));
  const anyBases = fc.uniqueArray(
    fc.record({ prefix: fc.stringMatching(/^[a-z]{3,8}$/), description: fc.string(), keywords: fc.array(anyKeyword) }),
    {
      selector: ({ prefix }) => prefix,
      maxLength: 5,
    },
  );
  fc.assert(
    fc.property(
      fc.array(anyKeyword),
      anyBases,
      fc.constantFrom<AgentType>("hybrid_agent", "naive_rag_agent", "chat_agent"),
      (words, bases, agentType) => {
        const { kb_prefix, worker_name, confidence } = decide(words.join(" "), { bases, agentType });
        expect([GENERAL, ...bases.map(({ prefix }) => prefix)]).toContain(kb_prefix);
        expect(worker_name).toBe(`${kb_prefix}:${agentType}`);
        expect(confidence).toBeGreaterThan(0);
        expect(confidence).toBeLessThanOrEqual(1);
      },
    ),
  );
});
