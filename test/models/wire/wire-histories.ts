import fc from "fast-check";
import type { Amendment } from "../../../models/wire/amendments.ts";
import { shapeMessages } from "../../../models/wire/shape-messages.ts";
import type { WireCall, WireMessage } from "../../../models/wire/wire-message.ts";

export const shape = (messages: readonly WireMessage[], ...amendments: Amendment[]): WireMessage[] =>
  shapeMessages(messages, new Set(amendments));

export const system = (text: string): WireMessage => ({ role: "system", content: text });
export const user = (content: string | readonly object[]): WireMessage => ({ role: "user", content });
export const assistant = (content: string): WireMessage => ({ role: "assistant", content });
export const call = (id: string, name = "calculate", given = '{"x":1}'): WireCall => ({
  id,
  type: "function",
  function: { name, arguments: given },
});
export const calls = (...asked: WireCall[]): WireMessage => ({ role: "assistant", content: null, tool_calls: asked });
export const result = (id: string, content: WireMessage["content"] = `result of ${id}`, name = "calculate"): WireMessage => ({
  role: "tool",
  tool_call_id: id,
  name,
  content,
});
export const textPart = (text: string): object => ({ type: "text", text });
export const picture = (name = "cat"): object => ({ type: "image_url", image_url: { url: `data:image/png;base64,${name}` } });

const words = (kind: string): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 8, arbitrary: fc.nat(999).map((number) => `${kind} ${number} 第${number}`) },
    { weight: 1, arbitrary: fc.constantFrom("", " ", "\n\t", "…", "(no answer)") },
    { weight: 1, arbitrary: fc.string({ unit: "grapheme", maxLength: 12 }) },
  );

/** As models and gateways give them: OpenAI, Anthropic, Mistral, Kimi, vLLM; and ones that look like those made anew. */
const id = fc.constantFrom(
  "call_1",
  "call_1",
  "call_1_1",
  "functions.calculate:0",
  "abc123DEF",
  "toolu_01A09q90qw90lq917835lq9",
  "chatcmpl-tool-0123456789abcdef0123456789abcdef",
  "0",
  "",
);
const name = fc.constantFrom("calculate", "functions.calculate:0", "mcp__a__b.c", "web search", "Küche", "x".repeat(80), "");

/** Answers with calls and what has come of them: results may miss, come in another order, come twice or belong to none. */
const round = fc
  .record({
    said: fc.option(words("thought")),
    asked: fc.array(fc.record({ id, name, isAnswered: fc.nat(5).map((number) => number > 0) }), { minLength: 1, maxLength: 3 }),
    isReversed: fc.boolean(),
    stray: fc.option(id, { freq: 4 }),
    output: fc.oneof(
      words("output"),
      fc.tuple(words("output"), words("output")).map((texts) => texts.map(textPart)),
      fc.constant(null),
    ),
  })
  .map(({ said, asked, isReversed, stray, output }): WireMessage[] => {
    const results = asked.filter(({ isAnswered }) => isAnswered).map((one) => result(one.id, output, one.name));
    return [
      { ...calls(...asked.map((one) => call(one.id, one.name))), content: said },
      ...(isReversed ? results.reverse() : results),
      ...(stray === null ? [] : [result(stray, output)]),
    ];
  });

const question = words("question").map(user);
const answer = words("answer").map(assistant);
const pictured = fc
  .array(
    fc.oneof(
      words("caption").map(textPart),
      fc.nat(9).map((number) => picture(String(number))),
    ),
    { maxLength: 3 },
  )
  .map(user);
const instruction = fc
  .record({
    text: words("instruction"),
    role: fc.constantFrom("system" as const, "developer" as const),
    inParts: fc.nat(4).map((number) => number === 0),
  })
  .map(({ text, role, inParts }): WireMessage => ({ role, content: inParts ? [textPart(text)] : text }));
const limit = fc.constant(user("You have no calls left. Answer now."));
const some = <T>(one: fc.Arbitrary<T>, chance = 1): fc.Arbitrary<T[]> =>
  fc.option(one, { freq: chance }).map((made) => (made === null ? [] : [made]));

/** What happens in a conversation. */
const happening: fc.Arbitrary<WireMessage[]> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(question, answer) },
  { weight: 1, arbitrary: question.map((one) => [one]) }, // it broke
  { weight: 1, arbitrary: fc.array(answer, { minLength: 1, maxLength: 3 }) }, // imported
  { weight: 1, arbitrary: fc.array(question, { minLength: 2, maxLength: 3 }) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(question, fc.array(round, { minLength: 1, maxLength: 3 }), some(limit), some(answer, 3))
      .map(([asked, rounds, notice, said]) => [asked, ...rounds.flat(), ...notice, ...said]),
  },
  { weight: 1, arbitrary: round },
  { weight: 1, arbitrary: fc.tuple(id, words("output")).map(([of, output]) => [result(of, output)]) },
  { weight: 1, arbitrary: fc.tuple(pictured, answer) },
  { weight: 1, arbitrary: instruction.map((one) => [one]) },
  { weight: 1, arbitrary: answer.map((one): WireMessage[] => [{ ...one, tool_calls: [] }]) },
  { weight: 1, arbitrary: question.map((one): WireMessage[] => [{ ...one, name: "Ann Other" }]) },
);
const conversation = fc.array(happening, { maxLength: 6 }).map((all) => all.flat());

/** Any history: a conversation, or the beginning of one with another end, of which a window is left; perhaps an answer is to be continued. */
export const anyHistory: fc.Arbitrary<WireMessage[]> = fc
  .record({
    lead: some(instruction, 2),
    told: conversation,
    fork: fc.option(fc.record({ at: fc.nat(20), tail: conversation }), { freq: 4 }),
    cut: fc.option(fc.record({ from: fc.nat(20), to: fc.nat(20) }), { freq: 3 }),
    next: fc.oneof(question, answer, pictured),
  })
  .map(({ lead, told, fork, cut, next }) => {
    const path = fork === null ? told : [...told.slice(0, fork.at % (told.length + 1)), ...fork.tail];
    const from = cut === null ? 0 : cut.from % (path.length + 1);
    const window = cut === null ? path : path.slice(from, path.length - (cut.to % (path.length - from + 1)));
    return [...lead, ...window, next];
  });

/** An exchange without oddities; ids are told apart by `turn`. */
const ordinaryTurn = fc.record({
  asked: fc.nat(999),
  withPicture: fc.nat(4).map((number) => number === 0),
  rounds: fc.array(fc.record({ parallel: fc.integer({ min: 1, max: 3 }), said: fc.boolean() }), { maxLength: 2 }),
});

/** What a well-behaved conversation looks like: an instruction, then questions, calls with their results, and answers; the last is a question. */
export const ordinaryHistory: fc.Arbitrary<WireMessage[]> = fc.array(ordinaryTurn, { maxLength: 5 }).map((turns) => [
  system("You are helpful."),
  ...turns.flatMap(({ asked, withPicture, rounds }, turn) => [
    user(withPicture ? [textPart(`question ${asked}`), picture()] : `question ${asked}`),
    ...rounds.flatMap(({ parallel, said }, place) => {
      const ids = Array.from({ length: parallel }, (_, index) => `t${turn}r${place}c${index}id1`);
      const request = calls(...ids.map((one) => call(one)));
      return [said ? { ...request, content: `thought ${place}` } : request, ...ids.map((one) => result(one))];
    }),
    assistant(`answer ${asked}`),
  ]),
  user("And now?"),
]);

export const plainHistory: fc.Arbitrary<WireMessage[]> = ordinaryHistory.map(withoutTools);

/** The same conversation as one that never had tools. */
export function withoutTools(messages: readonly WireMessage[]): WireMessage[] {
  return messages.flatMap(({ tool_calls = [], ...message }) => (message.role === "tool" || tool_calls.length > 0 ? [] : [message]));
}

/** The same conversation in words alone. */
export function withoutPictures(messages: readonly WireMessage[]): WireMessage[] {
  return messages.map((message) =>
    Array.isArray(message.content) ? { ...message, content: (message.content as object[]).filter((part) => "text" in part) } : message,
  );
}

/** The texts of a message, one by one. */
export function textsOf({ content }: WireMessage): string[] {
  if (content === null) return [];
  if (typeof content === "string") return [content];
  return content.flatMap((part) => ("text" in part && typeof part.text === "string" ? [part.text] : []));
}

export const idsOf = (messages: readonly WireMessage[]): string[] =>
  messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id));
export const answeredIdsOf = (messages: readonly WireMessage[]): string[] => messages.flatMap(({ tool_call_id }) => tool_call_id ?? []);
