import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { jsonOf, wrongJson, type BodySchema } from "./fuzz-json.ts";
import { brokenEncoding, hostileText, percentEncode } from "./fuzz-text.ts";

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

const MODELS = ["conversation-graph", "conversation-graph", "conversation-graph/travel", "gpt-4o"];

/** What makes sense in fields that are only strings to the schema. */
const KNOWN: Record<string, fc.Arbitrary<string>> = {
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

function pathValue(path: string, name: string, schema: BodySchema): fc.Arbitrary<string> {
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
function queryPart(name: string, schema: BodySchema): fc.Arbitrary<string> {
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

const HEADERS = [
  ..."if-match if-none-match idempotency-key last-event-id x-request-id traceparent tracestate range accept accept-encoding".split(" "),
  ..."accept-language x-task x-user-id x-session-id x-openwebui-user-id authorization origin cookie x-forwarded-for".split(" "),
  ..."x-forwarded-host x-http-method-override content-language te via date upgrade sec-fetch-site".split(" "),
];
const HEADER_VALUES = [
  ...'"3" W/"1" * "x" 1.1 999999999.999999999 -1.0 bytes=0- bytes=9-1,- text/event-stream ;;q http://[ null =;=;= websocket'.split(" "),
  ...["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "application/json;q=x", "gzip;q=0, *;q=0", "::1, , x"],
  ...["Bearer ", "Bearer a.b.c"],
];
const asHeader = (text: string): string => text.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, "?");

const oddHeaders: fc.Arbitrary<Record<string, string>> = fc.dictionary(
  fc.constantFrom(...HEADERS),
  fc.oneof(
    fc.constantFrom(...HEADER_VALUES),
    hostileText.map(asHeader),
    fc.constantFrom(100, 3_000).map((length) => "x".repeat(length)),
  ),
  { maxKeys: 3 },
);

const ODD_TYPES = [
  ...["utf-16", "latin1", '"', "utf-7"].map((charset) => `application/json; charset=${charset}`),
  ..."text/plain application/x-www-form-urlencoded application/jsonx application/problem+json x / */*".split(" "),
  "multipart/form-data; boundary=x",
];
const BOMB = gzipSync(Buffer.alloc(3_000_000, " "));

function sent(types: string[], texts: fc.Arbitrary<string>): fc.Arbitrary<{ headers: Record<string, string>; body: Buffer }> {
  const type = fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...types) }, { weight: 1, arbitrary: fc.constantFrom(...ODD_TYPES) });
  const plain = fc.tuple(type, texts).map(([name, text]) => ({ headers: { "content-type": name }, body: Buffer.from(text) }));
  const changed = fc.tuple(plain, fc.nat({ max: 1_000 }), fc.nat({ max: 7 })).map(([{ headers, body }, place, way]) => {
    const at = place % (body.length + 1);
    const encoded = (encoding: string, bytes: Buffer) => ({ headers: { ...headers, "content-encoding": encoding }, body: bytes });
    if (way === 0) return encoded("gzip", gzipSync(body));
    if (way === 1) return encoded("gzip", gzipSync(body).subarray(0, at));
    if (way === 2) return encoded("gzip", BOMB);
    if (way === 3) return encoded(["br", "deflate", "zstd", "gzip, gzip", "x", ""][place % 6] ?? "", body);
    if (way === 4) return { headers, body: body.subarray(0, at) };
    if (way === 5) return { headers, body: Buffer.concat([body.subarray(0, at), Buffer.from([0xff, 0xc0, 0xaf]), body.subarray(at)]) };
    if (way === 6) return { headers, body: Buffer.from(body.toString(), "utf16le") };
    return { headers, body: Buffer.concat([body, body]) };
  });
  return fc.oneof({ weight: 8, arbitrary: plain }, { weight: 1, arbitrary: changed });
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
