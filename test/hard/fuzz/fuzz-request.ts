import fc from "fast-check";
import { jsonOf, wrongJson, type BodySchema } from "./fuzz-json.ts";
import { KNOWN, pathValue, queryPart } from "./fuzz-address.ts";
import { oddHeaders, sent } from "./fuzz-body.ts";
import { hostileText } from "./fuzz-text.ts";

export interface FuzzRequest {
  operation: string;
  isTrue: boolean;
  method: string;
  target: string;
  headers: Record<string, string>;
  body: Buffer | null;
}

export interface DescribedOperation {
  operationId: string;
  parameters?: { $ref?: string; name?: string; in?: string; schema?: BodySchema }[];
  requestBody?: { content: Record<string, { schema: BodySchema }> };
  responses: Record<string, unknown>;
}

export interface Description {
  paths: Record<string, Record<string, DescribedOperation>>;
  components: { schemas: Record<string, BodySchema>; parameters: Record<string, { name: string; in: string; schema: BodySchema }> };
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "M-SEARCH", "QUERY"];

function bodyOf({ requestBody }: DescribedOperation, schemas: Description["components"]["schemas"]) {
  const entries = Object.entries(requestBody?.content ?? {});
  const [jsonType, json] = entries[0] ?? [];
  if (jsonType === undefined || !json)
    return fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: sent(["application/json"], wrongJson) });
  const texts = fc.oneof(
    ...[0, 8, 8, 40].map((noise) => jsonOf(json.schema, { schemas, known: KNOWN, noise })),
    ...(entries.length > 1 ? [hostileText] : []),
  );
  return sent([jsonType, ...entries.map(([type]) => type)], texts);
}

/** Requests of one operation, well and badly formed, and some that only look like it. */
function requestsOf(path: string, method: string, operation: DescribedOperation, { components }: Description): fc.Arbitrary<FuzzRequest> {
  const parameters = (operation.parameters ?? []).map((parameter) => {
    const known = parameter.$ref === undefined ? parameter : components.parameters[parameter.$ref.split("/").at(-1) ?? ""];
    return { name: known?.name ?? "", in: known?.in ?? "", schema: known?.schema ?? {} };
  });
  const places = path.match(/\{\w+\}/g) ?? [];
  const ofPath = places.map((place) => {
    const name = place.slice(1, -1);
    return pathValue(path, name, parameters.find((parameter) => parameter.in === "path" && parameter.name === name)?.schema ?? {});
  });
  const ofQuery = parameters.filter((parameter) => parameter.in === "query").map(({ name, schema }) => queryPart(name, schema));
  const body = bodyOf(operation, components.schemas);
  const oddMethod = fc.oneof({ weight: 30, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.constantFrom(...METHODS) });
  const headers = fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: oddHeaders });
  const tail = fc.oneof(
    { weight: 40, arbitrary: fc.constant("") },
    { weight: 1, arbitrary: fc.constantFrom("/", "//", "/..", ".json", "%00", "#x", "/%2e") },
  );
  return fc
    .tuple(fc.tuple(...ofPath), fc.tuple(...ofQuery), body, headers, oddMethod, tail)
    .map(([values, queries, content, odd, wrong, end]) => {
      const filled = values.reduce((text, value, index) => text.replace(places[index] ?? "", () => value), path);
      const query = queries.filter((part) => part !== "").join("&");
      return {
        operation: operation.operationId,
        isTrue: wrong === null && end === "",
        method: wrong ?? method.toUpperCase(),
        target: (filled + end + (query === "" ? "" : `?${query}`)).replaceAll(/[^\x21-\xff]/g, "?"),
        headers: { ...content?.headers, ...odd },
        body: content?.body ?? null,
      };
    });
}

export function anyRequest(description: Description): fc.Arbitrary<FuzzRequest> {
  const all = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => requestsOf(path, method, operation, description)),
  );
  return fc.oneof(...all);
}

export function responsesIn({ paths }: Description): Map<string, string[]> {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  return new Map(operations.map(({ operationId, responses }) => [operationId, Object.keys(responses)]));
}
