import fc from "fast-check";
import { hostileText } from "./fuzz-text.ts";

export interface BodySchema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  format?: string;
  pattern?: string;
  anyOf?: BodySchema[];
  oneOf?: BodySchema[];
  properties?: Record<string, BodySchema>;
  required?: string[];
  additionalProperties?: boolean | BodySchema;
  items?: BodySchema;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
}

/** JSON as text, so that it can hold what no value can: two fields of one name, numbers beyond any. */
type Json = fc.Arbitrary<string>;

export interface JsonOptions {
  schemas: Record<string, BodySchema>;
  known: Record<string, fc.Arbitrary<string>>;
  noise: number;
}

const quoted = (text: string): string => JSON.stringify(text);
const DEEP = 20_000;

/** Any JSON that is most likely not what was asked for. */
export const wrongJson: Json = fc.oneof(
  { weight: 4, arbitrary: hostileText.map(quoted) },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      ...'null true 0 -1 1.5 1e400 -0 99999999999999999999999 [] {} [[]] [null] {"__proto__":{"x":1}}'.split(" "),
      ...'{"constructor":{"prototype":{}}} {"lc":1,"type":"constructor"} "\\ud800" "\\u0000" {"length":1e9} {"toJSON":1}'.split(" "),
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom("[".repeat(DEEP) + "]".repeat(DEEP), '{"a":'.repeat(DEEP) + "1" + "}".repeat(DEEP)) },
  { weight: 1, arbitrary: fc.json({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom("NaN", "undefined", "'x'", "01", "+1", "{,}", "[1,]", "", '"\n"', "\ufeff1") }, // no JSON at all
);

const DATES = "2024-01-31T12:00:00Z 2024-02-30T12:00:00Z 0000-01-01T00:00:00Z 9999-12-31T23:59:59.999+14:00 2016-12-31T23:59:60Z".split(
  " ",
);
const COMMON_TEXT = fc.constantFrom("Where do I live?", "我住在里斯本", "I moved to Porto", "remember that I like tea", "x");

function textOf({ minLength = 0, maxLength, format, pattern }: BodySchema): Json {
  if (format === "uuid") {
    const known = fc.constantFrom("CONVERSATION-PLACE", "MESSAGE-PLACE", "TURN-PLACE", "DOCUMENT-PLACE");
    return fc.oneof({ weight: 3, arbitrary: known }, { weight: 1, arbitrary: fc.uuid() }).map(quoted);
  }
  if (format === "date-time") return fc.constantFrom(...DATES).map(quoted);
  if (pattern !== undefined) return fc.constantFrom("travel", "profile", "a-b_c", "Z").map(quoted);
  const edges = maxLength === undefined ? [] : [maxLength, maxLength + 1];
  const edge = fc.tuple(fc.constantFrom("x", "导"), fc.constantFrom(minLength, ...edges)).map(([piece, length]) => piece.repeat(length));
  return fc.oneof({ weight: 20, arbitrary: COMMON_TEXT }, { weight: 1, arbitrary: edge }).map(quoted);
}

function numberOf({ minimum = 0, maximum = 1e9 }: BodySchema): Json {
  return fc.constantFrom(minimum, minimum + 1, maximum, minimum - 1, maximum + 1, minimum + 0.5).map(String);
}

function objectOf(schema: BodySchema, options: JsonOptions): Json {
  const { properties = {}, required = [] } = schema;
  const { noise, known } = options;
  const fields = Object.entries(properties).map(([name, ofField]) => {
    const filled = known[name]?.map(quoted);
    const value = filled ? mostly(filled, noise) : jsonOf(ofField, options);
    const isThere = fc
      .integer({ min: 0, max: 99 })
      .map((roll) => (required.includes(name) ? roll >= noise / 3 : roll < (filled ? 60 : 20) + noise / 3));
    return fc.tuple(isThere, value).map(([there, text]) => (there ? [`${quoted(name)}:${text}`] : []));
  });
  const extra = fc.oneof(
    { weight: 100, arbitrary: fc.constant([]) },
    {
      weight: noise / 2,
      arbitrary: fc
        .tuple(fc.oneof(hostileText, fc.constantFrom(...Object.keys(properties), "__proto__", "constructor")), wrongJson)
        .map(([name, value]) => [`${quoted(name)}:${value}`]),
    },
  );
  return fc.tuple(...fields, extra).map((parts) => `{${parts.flat().join(",")}}`);
}

function arrayOf({ items = {}, minItems = 0, maxItems = 1e9 }: BodySchema, options: JsonOptions): Json {
  const some = fc.array(jsonOf(items, options), { minLength: Math.min(minItems, 1), maxLength: 3 });
  const sizes = [0, ...(maxItems < 1_000 ? [maxItems, maxItems + 1] : [])];
  const edge = fc
    .tuple(jsonOf(items, { ...options, noise: 0 }), fc.constantFrom(...sizes))
    .map(([item, size]) => Array<string>(size).fill(item));
  return fc.oneof({ weight: 20, arbitrary: some }, { weight: 1, arbitrary: edge }).map((texts) => `[${texts.join(",")}]`);
}

const mostly = (good: Json, noise: number): Json =>
  noise === 0 ? good : fc.oneof({ weight: 100 - noise, arbitrary: good }, { weight: noise, arbitrary: wrongJson });

function rightJson(schema: BodySchema, options: JsonOptions): Json {
  const { $ref, anyOf, oneOf, const: only } = schema;
  if ($ref !== undefined) return rightJson(options.schemas[$ref.split("/").at(-1) ?? ""] ?? {}, options);
  const choices = anyOf ?? oneOf;
  if (choices) return fc.oneof(...choices.map((choice) => rightJson(choice, options)));
  if (only !== undefined) return fc.constant(JSON.stringify(only));
  if (schema.enum) return fc.constantFrom(...schema.enum.map((value) => JSON.stringify(value)));
  const types = [schema.type ?? "any"].flat();
  return fc.oneof(
    ...types.map((type): Json => {
      if (type === "string") return textOf(schema);
      if (type === "integer" || type === "number") return numberOf(schema);
      if (type === "boolean") return fc.constantFrom("true", "false");
      if (type === "null") return fc.constant("null");
      if (type === "array") return arrayOf(schema, options);
      if (type === "object") return objectOf(schema, options);
      return fc.oneof(fc.json({ maxDepth: 2 }), hostileText.map(quoted));
    }),
  );
}

export const jsonOf = (schema: BodySchema, options: JsonOptions): Json => mostly(rightJson(schema, options), options.noise);
