import fc from "fast-check";
import type { BodySchema } from "./fuzz-json.ts";
import { brokenEncoding, hostileText, percentEncode } from "./fuzz-text.ts";

const MODELS = ["conversation-graph", "conversation-graph", "conversation-graph/travel", "gpt-4o"];

/** What makes sense in fields that are only strings to the schema. */
export const KNOWN: Record<string, fc.Arbitrary<string>> = {
  user_id: fc.constant("USER-PLACE"),
  user: fc.constant("USER-PLACE"),
  model: fc.constantFrom(...MODELS),
  kb_prefix: fc.constantFrom("travel", "general", "unknown"),
  conversation_id: fc.constant("CONVERSATION-PLACE"),
  role: fc.constantFrom("user", "user", "user", "assistant", "system"),
  content: fc.constantFrom("Where do I live?", "I moved to Porto", "我住在里斯本", "x".repeat(2_000), "导".repeat(2_001)),
  type: fc.constant("text"),
  tool_choice: fc.constantFrom("auto", "none"),
  function_call: fc.constant("none"),
};

export function pathValue(path: string, name: string, schema: BodySchema): fc.Arbitrary<string> {
  const ids = fc.constantFrom("CONVERSATION-PLACE", "MESSAGE-PLACE", "TURN-PLACE", "DOCUMENT-PLACE");
  const right = fc.oneof(
    ...(path.includes(`/users/{${name}}`) ? [fc.constant("USER-PLACE")] : []),
    ...(path.includes(`/turns/{${name}}`) ? [fc.constant("TURN-PLACE")] : []),
    ...(path.includes(`/conversations/{${name}}`) ? [fc.constant("CONVERSATION-PLACE")] : []),
    ...(name === "kb" ? [fc.constantFrom("travel", "another", "general")] : []),
    ...(schema.enum ? [fc.constantFrom(...schema.enum.map(String))] : []),
    ...(schema.format === "uuid" ? [ids, fc.uuid()] : [fc.constantFrom("profile", "x")]),
  );
  return fc.oneof(
    { weight: 12, arbitrary: right },
    { weight: 2, arbitrary: hostileText.map(percentEncode) },
    { weight: 1, arbitrary: brokenEncoding },
  );
}

function queryValue(name: string, { type, minimum = 0, maximum = 0, format }: BodySchema): fc.Arbitrary<string> {
  const known = KNOWN[name];
  if (known) return known;
  if (type === "integer") {
    const edges = [minimum, minimum + 1, minimum - 1, maximum + 1, ...(name === "timeout_ms" ? [] : [maximum])];
    return fc.constantFrom(...edges.map(String), "2", "3", "20", "1.5", "0x1", "", "٣");
  }
  if (format === "uuid") return fc.constantFrom("MESSAGE-PLACE", "00000000-0000-0000-0000-000000000000");
  return fc.constantFrom("Lisbon", "x", "MjAyNC0wMS0wMVQwMDowMDowMC4wMDBaIDAwMDAwMDAwLTAwMDAtNDAwMC04MDAwLTAwMDAwMDAwMDAwMA");
}

/** `name=value`, and the ways to write it wrong. */
export function queryPart(name: string, schema: BodySchema): fc.Arbitrary<string> {
  const value = fc.oneof(
    { weight: 15, arbitrary: queryValue(name, schema).map(percentEncode) },
    { weight: 2, arbitrary: hostileText.map(percentEncode) },
    { weight: 1, arbitrary: brokenEncoding },
  );
  return fc.oneof(
    { weight: 16, arbitrary: value.map((text) => `${name}=${text}`) },
    { weight: 8, arbitrary: fc.constant("") },
    { weight: 1, arbitrary: fc.tuple(value, value).map(([one, other]) => `${name}=${one}&${name}=${other}`) },
    { weight: 1, arbitrary: value.map((text) => `${name}[x]=${text}`) },
    { weight: 1, arbitrary: value.map((text) => `${name}[]=${text}&__proto__=${text}`) },
    { weight: 1, arbitrary: fc.constant(`${name}&=&&${"a&".repeat(1_200)}`) },
  );
}
