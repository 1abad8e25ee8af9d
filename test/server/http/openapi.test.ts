import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import express from "express";
import { pino } from "pino";
import { errorResponse } from "../../../server/http/error-response.ts";
import { closeServer, listen, portOf } from "../../../server/http/listen.ts";
import { buildDescription, describedPath } from "../../../server/openapi/build-description.ts";
import { openApiRoutes } from "../../../server/openapi/openapi-routes.ts";
import { OPERATIONS } from "../../../server/openapi/operations.ts";
import { callApi } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { routesOfService } from "../../support/clients/app-routes.ts";
import { IN_THIS_PROCESS } from "../../support/services/serve-library.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";

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

  test("describes every route there is, and none that is not", async () => {
    const routes = (await routesOfService(service.url)).map(({ method, path: at }) => `${method} ${describedPath(at)}`);
    const described = Object.entries(description.paths).flatMap(([at, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${at}`),
    );
    expect(described.toSorted()).toEqual(routes.toSorted());
    expect(described.length).toBeGreaterThan(30);
  });

  test("gives every operation a name of its own", () => {
    const ids = OPERATIONS.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("says what is configured", () => {
    expect(description.components.schemas["ChatRequest"]?.properties["message"]).toMatchObject({
      anyOf: [{ minLength: 1, maxLength: 1234 }, { type: "array" }],
    });
  });

  test("needs a key like everything else, as the page does; only what it describes as open needs none", async () => {
    const known = OPERATIONS.filter(({ id }) => id !== "getPageAsset"); // a file that is not there goes on to what needs a key
    for (const { path: at, method, isOpen } of known) {
      const { status } = await fetch(service.url + at, { method: method.toUpperCase() });
      expect({ at, method, needsKey: status === 401 }).toEqual({ at, method, needsKey: isOpen !== true });
    }
  });

  test("has a page that loads from this service only and runs no script of its own text", async () => {
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

test("a page that was never built says how to build it, and the description is there all the same", async () => {
  const routes = openApiRoutes(() => buildDescription({ maxMessageChars: 10, sections: ["profile"] }), "/nowhere");
  const server = await listen(express().use(routes, errorResponse(pino({ level: "silent" }), 1)), 0, "127.0.0.1");
  const url = `http://127.0.0.1:${portOf(server)}`;
  expectRefusal(await callApi(`${url}/docs`), { status: 404, code: "not_found", says: /npm run build.*\/openapi\.json/ });
  expect((await callApi(`${url}/docs/swagger-ui.css`)).status).toBe(404);
  expect((await callApi<Description>(`${url}/openapi.json`)).json.openapi).toBe("3.1.0");
  await closeServer(server);
});
