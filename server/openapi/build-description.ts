import { z } from "zod";
import { chatMessage } from "../turns/chat-request.ts";
import { importedText } from "../api/conversations/import-routes.ts";
import { ANSWER_HEADERS, type AnswerHeader, REQUEST_HEADERS } from "../http/headers.ts";
import { configuredSection } from "../api/memory/core-memory-routes.ts";
import { type Answer, type Content, jsonBody, type Operation, TAGS } from "../http/operation.ts";
import { GROUPS, OPERATIONS } from "./operations.ts";
import { ErrorAnswer } from "../http/error-response.ts";
import { HTTP_STATUS } from "../http/http-status.ts";
import type { ErrorCode } from "../../errors/error-codes.ts";
import { OpenAIErrorAnswer, toOpenAIError } from "../http/openai-error.ts";

export interface DescribedLimits {
  maxMessageChars: number;
  sections: readonly string[];
}

const HEADERS_OF_STATUS: Readonly<Record<number, readonly AnswerHeader[]>> = {
  401: ["WWW-Authenticate"],
  429: ["Retry-After"],
  503: ["Retry-After"],
};

const SCHEMAS = Object.assign({ ErrorAnswer, OpenAIErrorAnswer }, ...GROUPS.map(({ schemas }) => schemas)) as Record<string, z.ZodType>;

const PARAMETER = /[:*](\w+)/g;

export const describedPath = (path: string): string => path.replaceAll(PARAMETER, "{$1}");

const toContent = (content: Content, writer: SchemaWriter) =>
  Object.fromEntries(Object.entries(content).map(([mediaType, schema]) => [mediaType, { schema: writer.write(schema) }]));

const toHeaders = (names: readonly AnswerHeader[]) =>
  Object.fromEntries(["X-Request-Id" as const, ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const toResponse = ({ what, content, headers = [] }: Answer, writer: SchemaWriter) => {
  return { description: what, headers: toHeaders(headers), content: toContent(content, writer) };
};

/** The errors of every operation that needs a key. */
const COMMON_ERRORS = [
  "invalid_request",
  "unauthorized",
  "forbidden",
  "misdirected_request",
  "rate_limited",
  "storage_unavailable",
  "internal_error",
] as const satisfies readonly ErrorCode[];

export interface DescribedError {
  status: number;
  schema: z.ZodType;
  /** In OpenAI's words on its routes. */
  codes: string[];
}

/** A missing model has its own code. */
const openAICodes = (code: ErrorCode): string[] =>
  ["", "model"].map((field) => toOpenAIError({ code, message: "", details: [{ field, problem: "" }] }).error.code);

export function errorsOf({ path, isOpen = false, errors = [] }: Operation): DescribedError[] {
  const speaksOpenAI = path.startsWith("/v1/");
  const codes = [...new Set<ErrorCode>([...(isOpen ? [] : COMMON_ERRORS), ...errors])];
  return [...Map.groupBy(codes, (code) => HTTP_STATUS[code])].map(([status, ofStatus]) => ({
    status,
    schema: speaksOpenAI ? OpenAIErrorAnswer : ErrorAnswer,
    codes: speaksOpenAI ? [...new Set(ofStatus.flatMap(openAICodes))] : ofStatus,
  }));
}

function errorResponses(operation: Operation, writer: SchemaWriter) {
  return Object.fromEntries(
    errorsOf(operation).map(({ status, schema, codes }) => {
      const what = codes.map((code) => `\`${code}\``).join(", ");
      return [status, toResponse({ what, content: jsonBody(schema), headers: HEADERS_OF_STATUS[status] ?? [] }, writer)];
    }),
  );
}

function parametersOf({ path, params = {}, query, headers = [] }: Operation, writer: SchemaWriter) {
  const inPath = [...path.matchAll(PARAMETER)].map(([, name = ""]) => {
    return { name, in: "path", required: true, schema: writer.write(params[name] ?? z.uuid()) };
  });
  const inQuery = query ? writer.writeProperties(query).map((parameter) => ({ ...parameter, in: "query" })) : [];
  return [...inPath, ...inQuery, ...headers.map((name) => ({ $ref: `#/components/parameters/${name}` }))];
}

function toOperation(operation: Operation, writer: SchemaWriter) {
  const { id, tag, summary, details, body, bodyIsOptional = false, answers, isOpen = false } = operation;
  const parameters = parametersOf(operation, writer);
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(details === undefined ? {} : { description: details }),
    ...(isOpen ? { security: [] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: { required: !bodyIsOptional, content: toContent(body, writer) } } : {}),
    responses: {
      ...errorResponses(operation, writer),
      ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, toResponse(answer, writer)])),
    },
  };
}

/** The API in OpenAPI 3.1, from the schemas that validate it. */
export function buildDescription({ maxMessageChars, sections }: DescribedLimits) {
  const writer = makeSchemaWriter(
    SCHEMAS,
    new Map<z.core.$ZodType, JsonSchema>([
      [chatMessage, { maxLength: maxMessageChars }],
      [importedText, { maxLength: maxMessageChars }],
      [configuredSection, { enum: [...sections] }],
    ]),
  );
  const byPath = Map.groupBy(OPERATIONS, ({ path }) => describedPath(path));
  return {
    openapi: "3.1.0",
    info: {
      title: "conversation-graph",
      version: "1",
      description: "A self-hosted chat service that remembers.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    security: [{ bearer: [] }],
    paths: Object.fromEntries(
      [...byPath].map(([path, operations]) => {
        return [path, Object.fromEntries(operations.map((operation) => [operation.method, toOperation(operation, writer)]))];
      }),
    ),
    components: {
      schemas: writer.components,
      parameters: Object.fromEntries(
        Object.entries(REQUEST_HEADERS).map(([name, { schema, what }]) => {
          return [name, { name, in: "header", description: what, schema: writer.write(schema) }];
        }),
      ),
      headers: Object.fromEntries(
        Object.entries(ANSWER_HEADERS).map(([name, { schema, what }]) => [name, { description: what, schema: writer.write(schema) }]),
      ),
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "A key of API_KEYS, or a token. Asked for once one of them is configured." },
      },
    },
  };
}

type JsonSchema = z.core.JSONSchema.BaseSchema;

function inline(json: JsonSchema): JsonSchema {
  delete json.$schema;
  delete json.$id;
  return json;
}

const reference = (name: string): string => `#/components/schemas/${name}`;

/** Adds what zod leaves out of the input side of a transform. */
function complete(schema: z.core.$ZodTypes, json: JsonSchema): void {
  const { def } = schema._zod;
  if (def.type === "default") json.default = def.defaultValue;
  if (json.type === "integer" || json.format !== undefined) delete json.pattern; // it matches the text in a query string
  if (json.maximum === Number.MAX_SAFE_INTEGER) delete json.maximum;
  if (json.minimum === Number.MIN_SAFE_INTEGER) delete json.minimum;
}

type SchemaWriter = ReturnType<typeof makeSchemaWriter>;

/** `limits` are the configured ones, like the longest message. */
export function makeSchemaWriter(named: Readonly<Record<string, z.ZodType>>, limits: ReadonlyMap<z.core.$ZodType, JsonSchema>) {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const options = {
    io: "input" as const, // for answers, too: a new field must not break a client
    uri: reference,
    override({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: JsonSchema }) {
      complete(zodSchema, jsonSchema);
      Object.assign(jsonSchema, limits.get(zodSchema));
    },
  };
  const { schemas } = z.toJSONSchema(registry, options);
  return {
    /** By name. */
    components: Object.fromEntries(Object.entries(schemas).map(([name, json]) => [name, inline(json)])),
    /** A reference to a named schema, or the schema itself. Throws for an object or union without a name. */
    write(schema: z.ZodType): JsonSchema {
      const id = registry.get(schema)?.id;
      if (id !== undefined) return { $ref: reference(id) };
      const json = inline(z.toJSONSchema(schema, options));
      if (json.type === "object" || json.oneOf || json.anyOf) throw new Error("a body in the description of the API has no name");
      return json;
    },
    writeProperties(object: z.ZodObject): { name: string; required: boolean; schema: JsonSchema }[] {
      const { properties = {}, required = [] } = z.toJSONSchema(object, options);
      return Object.entries(properties).map(([name, schema]) => {
        return { name, required: required.includes(name), schema: schema as JsonSchema };
      });
    },
  };
}
