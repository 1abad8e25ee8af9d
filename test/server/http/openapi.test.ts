import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import express from "express";
import { pino } from "pino";
import { errorResponse } from "../../../server/http/error-response.ts";
import { closeServer, listen, portOf } from "../../../server/http/listen.ts";
import { buildDescription, describedPath, makeSchemaWriter } from "../../../server/openapi/build-description.ts";
import { openApiRoutes } from "../../../server/openapi/openapi-routes.ts";
import { OPERATIONS } from "../../../server/openapi/operations.ts";
import { callApi } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { routesOfService } from "../../support/clients/app-routes.ts";
import { IN_THIS_PROCESS } from "../../support/services/serve-library.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";
import { z } from "zod";
import { AppError } from "../../../errors/app-error.ts";
import { parseChatRequest } from "../../../server/turns/chat-request.ts";
import { parseImportRequest } from "../../../server/api/conversations/import-routes.ts";

interface Description {
  openapi: string;
  paths: Record<string, Record<string, { operationId: string; security?: unknown[] }>>;
  components: { schemas: Record<string, { properties: Record<string, { maxLength?: number }> }> };
}
const KEY = "a-long-enough-key";
describe("the description of the API", () => {
  let service: TestService;
  let description: Description;

  beforeAll(async () => {
    service = await openTestService({ API_KEYS: `${KEY}:acme`, MAX_MESSAGE_CHARS: "1234" }, IN_THIS_PROCESS);
    description = (await callApi<Description>(`${service.url}/openapi.json`)).json;
  });
  afterAll(() => service.close());

  test("lists exactly the routes that exist", async () => {
    const routes = (await routesOfService(service.url)).map(({ method, path: at }) => `${method} ${describedPath(at)}`);
    const described = Object.entries(description.paths).flatMap(([at, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${at}`),
    );
    expect(described.toSorted()).toEqual(routes.toSorted());
    expect(described.length).toBeGreaterThan(30);
  });

  test("gives every operation its own name", () => {
    const ids = OPERATIONS.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("shows the configured longest message", () => {
    expect(description.components.schemas["ChatRequest"]?.properties["message"]).toMatchObject({
      anyOf: [{ minLength: 1, maxLength: 1234 }, { type: "array" }],
    });
  });

  test("needs a key, and names exactly the operations that need none", async () => {
    const known = OPERATIONS.filter(({ id }) => id !== "getPageAsset"); // a file that is not there goes on to what needs a key
    for (const { path: at, method, isOpen } of known) {
      const { status } = await fetch(service.url + at, { method: method.toUpperCase() });
      expect({ at, method, needsKey: status === 401 }).toEqual({ at, method, needsKey: isOpen !== true });
    }
  });

  test("has a page that loads files from this service only and has no inline script", async () => {
    const page = await fetch(`${service.url}/docs`);
    expect(page.status).toBe(200);
    expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/);
    const html = await page.text();
    expect(html).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|https?:/);
    const loaded = [...html.matchAll(/(?:src|href)="(\/[^"]*)"/g)].map(([, at]) => at);
    expect(loaded).toHaveLength(3);
    for (const at of loaded) {
      const asset = await fetch(service.url + at);
      expect({ at, status: asset.status, type: asset.headers.get("content-type") }).toMatchObject({
        status: 200,
        type: expect.stringMatching(/^text\/(css|javascript)/) as unknown,
      });
      expect((await asset.text()).length).toBeGreaterThan(50);
    }
    expect((await callApi(`${service.url}/docs/LICENSE`)).status).toBe(404);
    expect((await callApi(`${service.url}/docs/..%2F..%2F..%2Fpackage.json`)).status).toBe(404);
  });
});
test("a page of the description that was never built says how to build it, while the description itself is served", async () => {
  const routes = openApiRoutes(() => buildDescription({ maxMessageChars: 10, sections: ["profile"] }), "/nowhere");
  const server = await listen(express().use(routes, errorResponse(pino({ level: "silent" }), 1)), 0, "127.0.0.1");
  const url = `http://127.0.0.1:${portOf(server)}`;
  expectRefusal(await callApi(`${url}/docs`), { status: 404, code: "not_found", says: /npm run build.*\/openapi\.json/ });
  expect((await callApi(`${url}/docs/swagger-ui.css`)).status).toBe(404);
  expect((await callApi<Description>(`${url}/openapi.json`)).json.openapi).toBe("3.1.0");
  await closeServer(server);
});

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
describe("the described limits", () => {
  test.each(REQUESTS)("of $id are the limits that its requests are checked against", ({ schema }) => {
    for (const { name, schema: described } of writer.writeProperties(schema)) {
      for (const [value, isTaken] of edgesOf(described))
        expect({ name, value, isTaken: takes(schema.shape[name] as z.ZodType, value) }).toEqual({ name, value, isTaken });
    }
  });

  test("are more than 80 in number", () => {
    const edges = REQUESTS.flatMap(({ schema }) => writer.writeProperties(schema).flatMap((field) => edgesOf(field.schema)));
    expect(edges.length).toBeGreaterThan(80);
  });

  test("have the configured longest message", () => {
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
test("an object in a body must have a name, because clients are generated with it", () => {
  expect(() => writer.write(z.object({ a: z.string() }))).toThrow("has no name");
});
