import { expect, test } from "@jest/globals";
import { parseArguments, shownArguments } from "../../text/tool-arguments.ts";

test.each<[what: string, text: string, value: unknown]>([
  ["an object", '{"a":[1,{"b":"c"}]}', { a: [1, { b: "c" }] }],
  ["nothing", " ", {}],
  ["a NUL in a value and in a name", '{"a\\u0000b":"c\\u0000d"}', { ab: "cd" }],
  ["half a surrogate pair in a name, deep inside", '{"a":[{"\\ud83dx":1}]}', { a: [{ "\uFFFDx": 1 }] }],
  ["a character beyond the first plane", '{"\\ud83d\\ude00":"😀"}', { "😀": "😀" }],
])("%s is read as what can be stored", (_what, text, value) => {
  expect(parseArguments(text)).toEqual(value);
  expect(shownArguments({ arguments: text })).toEqual(value);
});

test("a name that is the prototype's is a name as others", () => {
  expect(JSON.stringify(parseArguments('{"__proto__":{"a":"\\u0000"}}'))).toBe('{"__proto__":{"a":""}}');
});

test.each(["[1]", "7", "null", '"text"', "{no json", '{"a":1', "not json"])("%s is no arguments, and shown as it is", (text) => {
  expect(parseArguments(text)).toBeNull();
  expect(shownArguments({ arguments: text })).toBe(text);
});

test("100 levels are read, more are not", () => {
  const nested = (levels: number): string => `{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
  expect(parseArguments(nested(100))).not.toBeNull();
  for (const levels of [101, 3_000, 100_000]) expect(parseArguments(nested(levels))).toBeNull();
});
