import fc from "fast-check";
import { type Dialect, REPLIES, repliesOf } from "./dialect.ts";
import type { Cut, Reply } from "./dialect-frames.ts";
import { DIALECTS } from "./dialects.ts";

export interface Spoken {
  dialect: Dialect;
  reply: Reply;
}

/** A reply in a dialect. */
export const spokenIn = (dialects: readonly Dialect[]): fc.Arbitrary<Spoken> =>
  fc.constantFrom(
    ...dialects.flatMap((dialect) =>
      repliesOf(dialect).map((name) => ({ dialect, reply: REPLIES[name], [fc.toStringMethod]: () => `${name} in “${dialect.name}”` })),
    ),
  );
export const spoken = spokenIn(DIALECTS);

/** Some place in something, whatever its length: taken modulo that. */
export const place = fc.nat({ max: 9_999 });

/** Cuts at places. Pieces may be empty. */
export const cutAt =
  (places: readonly number[]): Cut =>
  (text) => {
    const ends = places.map((at) => at % (text.length + 1)).sort((one, other) => one - other);
    return [0, ...ends].map((from, at) => text.slice(from, ends[at] ?? text.length));
  };
export const places = fc.array(place, { maxLength: 12 });

/** What a server says that is still there. */
const SIGNS_OF_LIFE = ["", "  ", "{}", '{"type":"ping"}', '{"choices":[]}', '{"choices":null}', '{"id":"x","choices":[],"usage":null}'];
const EMPTY_DELTAS = [
  '{"choices":[{"index":0,"delta":{}}]}',
  '{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}',
  '{"choices":[{"index":0,"delta":{"content":null,"reasoning_content":"","tool_calls":[]},"finish_reason":""}]}',
  '{"choices":[{"index":1,"delta":{"content":"of another answer"},"finish_reason":"length"}]}',
];
export const signOfLife = fc.constantFrom(...SIGNS_OF_LIFE);
export const pause = fc.constantFrom(...SIGNS_OF_LIFE, ...EMPTY_DELTAS);

const word = fc.constantFrom(
  "",
  "<think>",
  "</think>",
  "a",
  "{",
  "}",
  "stop",
  "length",
  "error",
  "text",
  "thinking",
  "0",
  "1",
  "valueOf",
  "__proto__",
);
const anything = fc.oneof({ weight: 3, arbitrary: word }, fc.constant(null), fc.nat({ max: 3 }), fc.jsonValue({ maxDepth: 3 }));
const some = <Fields>(fields: { [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> }) =>
  fc.oneof({ weight: 6, arbitrary: fc.record(fields, { requiredKeys: [] }) }, anything);
const list = (item: fc.Arbitrary<unknown>) => fc.oneof({ weight: 4, arbitrary: fc.array(item, { maxLength: 3 }) }, anything);
const part = some({ type: anything, text: anything, thinking: anything, refusal: anything, summary: anything });
const piece = some({
  ...{ index: anything, id: anything, name: anything, arguments: anything, extra_content: anything },
  function: some({ name: anything, arguments: anything, thought_signature: anything }),
});
const delta = some({
  ...{ role: anything, reasoning: anything, reasoning_content: anything, refusal: anything, thinking_blocks: list(part) },
  ...{ content: list(part), reasoning_details: list(part), tool_calls: list(piece), function_call: piece },
});
const details = some({ cached_tokens: anything, reasoning_tokens: anything });
const usage = some({
  ...{ prompt_tokens: anything, completion_tokens: anything, total_tokens: anything },
  ...{ prompt_tokens_details: details, completion_tokens_details: details },
});
const choice = some({ index: anything, delta, message: delta, finish_reason: anything, usage });

/** A frame with every field that is read, and anything in it. */
export const oddFrame = some({
  ...{ choices: list(choice), usage, x_groq: some({ usage }), object: anything },
  error: fc.oneof({ weight: 20, arbitrary: fc.constant(null) }, anything),
});
