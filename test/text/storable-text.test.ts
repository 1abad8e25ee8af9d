import { expect, test } from "@jest/globals";
import { storableJson } from "../../text/storable-text.ts";

test.each([
  ["keeps what can be stored", { a: ["\u{1F600}", 1, null, "\\ud800 \\u0000"] }, { a: ["\u{1F600}", 1, null, "\\ud800 \\u0000"] }],
  ["mends half a surrogate pair in a text", { a: ["x\ud800"] }, { a: ["x\ufffd"] }],
  ["mends half a surrogate pair in the name of a field, deep inside", [{ a: { "\udc00b": 1 } }], [{ a: { "\ufffdb": 1 } }]],
  ["drops NUL in a text and in the name of a field", { "a\0": "b\0" }, { a: "b" }],
  ["writes dates as JSON does", { at: new Date(0), "\0": undefined, b: "\0" }, { at: "1970-01-01T00:00:00.000Z", b: "" }],
])("JSON for the database %s", (_what, value, expected) => {
  expect(JSON.parse(storableJson(value))).toEqual(expected);
});
