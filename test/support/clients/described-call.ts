import { expect } from "@jest/globals";
import type { z } from "zod";
import { errorsOf } from "../../../server/openapi/build-description.ts";
import type { Operation } from "../../../server/http/operation.ts";
import { OPERATIONS } from "../../../server/openapi/operations.ts";
import type { ErrorBody } from "./api-client.ts";

export interface DescribedRequest {
  params?: Record<string, string>;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: unknown;
}

/** Calls a service by the description alone, and holds every answer to it. */
export type DescribedClient = ReturnType<typeof makeDescribedClient>;

function operationOf(id: string): Operation {
  const operation = OPERATIONS.find((known) => known.id === id);
  if (!operation) throw new Error(`the description has no operation ${id}`);
  return operation;
}

function toAddress(url: string, { path }: Operation, { params = {}, query = {} }: DescribedRequest): string {
  const filled = path.replace(/[:*](\w+)/g, (_whole, name: string) => encodeURIComponent(params[name] ?? `no-${name}`));
  return `${url}${filled}?${new URLSearchParams(query).toString()}`;
}

function valuesOf(mediaType: string, text: string): Record<string, never>[] {
  if (mediaType === "application/json") return [JSON.parse(text) as Record<string, never>];
  if (mediaType !== "text/event-stream") return [];
  const data = text.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice("data: ".length)] : []));
  return data.filter((line) => line !== "[DONE]").map((line) => JSON.parse(line) as Record<string, never>);
}

/** The value is as described, and holds nothing that is not. */
function expectDescribed(schema: z.ZodType, value: unknown): void {
  expect(schema.parse(value)).toEqual(value);
}

export function makeDescribedClient(url: string) {
  const answered = new Set<string>();
  return {
    answered,
    async call(id: string, request: DescribedRequest = {}) {
      const operation = operationOf(id);
      const { method, answers } = operation;
      const { body, headers = {} } = request;
      const type = body === undefined || typeof body === "string" ? {} : { "content-type": "application/json" };
      const response = await fetch(toAddress(url, operation, request), {
        method: method.toUpperCase(),
        headers: { ...type, ...headers },
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const { status } = response;
      const mediaType = response.headers.get("content-type")?.split(";")[0] ?? "";
      const text = await response.text();
      const values = valuesOf(mediaType, text);
      const answer = answers[status];
      if (answer) {
        const schema = answer.content[mediaType];
        if (!schema && (mediaType !== "" || text !== "" || Object.keys(answer.content).length > 0))
          throw new Error(`${id} answered ${status} with ${mediaType}, which is not described: ${text.slice(0, 200)}`);
        for (const value of values) expectDescribed(schema as z.ZodType, value);
        for (const name of answer.headers ?? []) expect({ id, name, given: response.headers.has(name) }).toMatchObject({ given: true });
        answered.add(id);
      } else {
        const described = errorsOf(operation).find((error) => error.status === status);
        if (!described) throw new Error(`${id} answered ${status}, which is not described: ${text.slice(0, 300)}`);
        for (const value of values) expectDescribed(described.schema, value);
        const { code } = (values[0] as unknown as ErrorBody).error;
        expect({ id, codes: described.codes }).toEqual({ id, codes: expect.arrayContaining([code]) as unknown });
      }
      return { status, headers: response.headers, text, values };
    },
  };
}
