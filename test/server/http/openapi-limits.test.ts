import { describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { AppError } from "../../../errors/app-error.ts";
import { parseChatRequest } from "../../../server/turns/chat-request.ts";
import { parseImportRequest } from "../../../server/api/conversations/import-routes.ts";
import { buildDescription, makeSchemaWriter } from "../../../server/openapi/build-description.ts";
import { OPERATIONS } from "../../../server/openapi/operations.ts";

const MAX_MESSAGE_CHARS = 40;
const writer = makeSchemaWriter({}, new Map());

/** The objects that requests are validated with: queries, and bodies of JSON. */
const REQUESTS = OPERATIONS.flatMap(({ id, query, body }) => {
  const json = body?.["application/json"];
  return [query, json].flatMap((schema) => (schema instanceof z.ZodObject ? [{ id, schema }] : []));
});

/** Whether a field alone is taken. A number of a query string is text there. */
function takes(schema: z.ZodType, value: unknown): boolean {
  return schema.safeParse(value).success || (typeof value === "number" && schema.safeParse(String(value)).success);
}

/** Values at a described limit, which must be taken, and beyond it, which must not. */
function edgesOf({ minLength, maxLength, minimum, maximum, enum: values }: z.core.JSONSchema.BaseSchema): [unknown, boolean][] {
  return [
    ...(minLength === undefined ? [] : [["x".repeat(minLength), true] as const, ["x".repeat(minLength - 1), false] as const]),
    ...(maxLength === undefined ? [] : [["x".repeat(maxLength), true] as const, ["x".repeat(maxLength + 1), false] as const]),
    ...(minimum === undefined ? [] : [[minimum, true] as const, [minimum - 1, false] as const]),
    ...(maximum === undefined ? [] : [[maximum, true] as const, [maximum + 1, false] as const]),
    ...(values === undefined ? [] : [...values.map((value) => [value, true] as const), ["none of them", false] as const]),
  ].map(([value, isTaken]) => [value, isTaken]);
}

describe("limits are described as they are validated", () => {
  test.each(REQUESTS)("$id", ({ schema }) => {
    for (const { name, schema: described } of writer.writeProperties(schema)) {
      for (const [value, isTaken] of edgesOf(described))
        expect({ name, value, isTaken: takes(schema.shape[name] as z.ZodType, value) }).toEqual({ name, value, isTaken });
    }
  });

  test("there are many", () => {
    const edges = REQUESTS.flatMap(({ schema }) => writer.writeProperties(schema).flatMap((field) => edgesOf(field.schema)));
    expect(edges.length).toBeGreaterThan(80);
  });

  test("the longest message is the configured one", () => {
    const { schemas } = buildDescription({ maxMessageChars: MAX_MESSAGE_CHARS, sections: ["profile"] }).components;
    const longest = "语".repeat(MAX_MESSAGE_CHARS);
    const chat = { user_id: "u", session_id: "s", message: longest };
    expect(schemas["ChatRequest"]?.properties?.["message"]).toMatchObject({ anyOf: [{ maxLength: MAX_MESSAGE_CHARS }, { type: "array" }] });
    expect(parseChatRequest(chat, MAX_MESSAGE_CHARS).message).toBe(longest);
    expect(() => parseChatRequest({ ...chat, message: `${longest}x` }, MAX_MESSAGE_CHARS)).toThrow(AppError);

    const imported = { user_id: "u", session_id: "s", messages: [{ role: "user", content: longest }] };
    expect(JSON.stringify(schemas["ImportRequest"])).toContain(`"maxLength":${MAX_MESSAGE_CHARS}`);
    expect(parseImportRequest(imported, MAX_MESSAGE_CHARS).messages).toHaveLength(1);
    const longer = { ...imported, messages: [{ role: "user", content: `${longest}x` }] };
    expect(() => parseImportRequest(longer, MAX_MESSAGE_CHARS)).toThrow(AppError);
  });
});

test("an object in a body needs a name, which clients are generated with", () => {
  expect(() => writer.write(z.object({ a: z.string() }))).toThrow("has no name");
});
