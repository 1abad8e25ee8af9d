import type { Request, Response, Router } from "express";
import { z } from "zod";
import { tenantOf } from "../auth/caller.ts";
import type { Stores } from "../parts/open-stores.ts";
import type { ConversationGraph } from "../../graph/build-graph.ts";
import { jsonBody, makeRouter, operationGroup, route } from "../http/operation.ts";
import { givenMetadata, parseRequest, storableText } from "../http/parse-request.ts";
import { Assistant, GRAPH_ID } from "./assistants.ts";
import { fitAnswer, bodySelection, pickFields } from "./fit-answer.ts";
import type { LangGraphParts } from "./langgraph-parts.ts";
import { RunContext } from "./run-request.ts";
import { ThreadValues } from "./thread-values.ts";

export const limit = (most = 1_000) => z.int("must be a whole number").min(1).max(most).nullish();
export const offset = z.int("must be a whole number").min(0).max(1_000_000).nullish();
/** Filters by what the answer must contain. */
export const holding = givenMetadata.nullish();

const AssistantFilter = z.looseObject({
  graph_id: storableText.nullish(),
  name: storableText.nullish().describe("A part of the name."),
  metadata: holding,
});
const AssistantSearch = AssistantFilter.extend({
  limit: limit(),
  offset,
  sort_by: z.enum(["assistant_id", "graph_id", "name", "created_at", "updated_at"]).nullish(),
  sort_order: z.enum(["asc", "desc"]).nullish(),
  select: bodySelection(Object.keys(Assistant.shape)),
});

const GraphDrawing = z.object({
  nodes: z.array(z.looseObject({ id: z.union([z.string(), z.number()]) })),
  edges: z.array(z.looseObject({ source: z.string(), target: z.string() })),
});
const JsonSchema = z.record(z.string(), z.unknown());
const GraphSchemas = z.object({
  graph_id: z.literal(GRAPH_ID),
  input_schema: JsonSchema,
  output_schema: JsonSchema,
  state_schema: JsonSchema,
  config_schema: JsonSchema,
  context_schema: JsonSchema,
});

const Subgraphs = z.record(z.string(), GraphSchemas);
const VersionsRequest = z.looseObject({ limit: limit(), offset, metadata: holding });

const params = { assistant_id: z.string().describe("The id or the name of an assistant.") };
const flag = z.string("must be given once").optional();
const isSet = (value: string | undefined): boolean => value !== undefined && /^(1|true|yes|[1-9]\d*)$/i.test(value);

export const assistantOperations = operationGroup({
  tag: "LangGraph's protocol",
  schemas: { Assistant, AssistantSearch, AssistantFilter, VersionsRequest, GraphDrawing, GraphSchemas, Subgraphs },
  routes: {
    searchAssistants: route("POST /langgraph/assistants/search", "The agents, as assistants", {
      details: "The header `X-Pagination-Next` is the offset of the next page, when there is one.",
      body: jsonBody(AssistantSearch),
      answer: z.array(Assistant),
    }),
    countAssistants: route("POST /langgraph/assistants/count", "How many there are", { body: jsonBody(AssistantFilter), answer: z.int() }),
    getAssistant: route("GET /langgraph/assistants/:assistant_id", "One assistant", { params, answer: Assistant, errors: ["not_found"] }),
    drawAssistant: route("GET /langgraph/assistants/:assistant_id/graph", "The graph of a turn", {
      params,
      query: z.object({ xray: flag.describe("true: with the loop of agents.") }),
      answer: GraphDrawing,
      errors: ["not_found"],
    }),
    getAssistantSchemas: route("GET /langgraph/assistants/:assistant_id/schemas", "What a run takes and a thread holds", {
      params,
      answer: GraphSchemas,
      errors: ["not_found"],
    }),
    listSubgraphs: route("GET /langgraph/assistants/:assistant_id/subgraphs", "The graphs within the graph", {
      params,
      query: z.object({ recurse: flag }),
      answer: Subgraphs,
      errors: ["not_found"],
    }),
    listSubgraphsOf: route("GET /langgraph/assistants/:assistant_id/subgraphs/:namespace", "A graph within the graph", {
      params: { ...params, namespace: z.string().describe("The name of its node.") },
      query: z.object({ recurse: flag }),
      answer: Subgraphs,
      errors: ["not_found"],
    }),
    listAssistantVersions: route("POST /langgraph/assistants/:assistant_id/versions", "How an assistant was, newest first", {
      params,
      body: jsonBody(VersionsRequest),
      answer: z.array(Assistant),
      errors: ["not_found"],
    }),
  },
});

const schemaOf = (schema: z.ZodType): Record<string, unknown> => z.toJSONSchema(schema, { unrepresentable: "any", io: "input" });
const Input = z.object({ messages: ThreadValues.shape.messages.unwrap() });

/** Whether an object contains the asked fields. */
function holds(value: Record<string, unknown>, asked: Record<string, unknown> | null | undefined): boolean {
  return Object.entries(asked ?? {}).every(([name, wanted]) => JSON.stringify(value[name]) === JSON.stringify(wanted));
}

export function assistantRoutes(
  { stores, graph }: { stores: Pick<Stores, "agents">; graph: ConversationGraph },
  { assistants }: LangGraphParts,
): Router {
  const schemas = {
    graph_id: GRAPH_ID,
    input_schema: schemaOf(Input),
    output_schema: schemaOf(ThreadValues),
    state_schema: schemaOf(ThreadValues),
    config_schema: schemaOf(RunContext),
    context_schema: schemaOf(RunContext),
  } as const;

  async function listFiltered(tenantId: string, { graph_id, name, metadata }: z.infer<typeof AssistantFilter>): Promise<Assistant[]> {
    if (graph_id && graph_id !== GRAPH_ID) return [];
    const all = await assistants.list(tenantId);
    const part = name?.toLowerCase() ?? "";
    return all.filter((one) => one.name.includes(part) && holds(one.metadata, metadata));
  }

  async function sendSubgraphs(request: Request, response: Response): Promise<void> {
    await assistants.find(tenantOf(response), String(request.params["assistant_id"]));
    const namespace = request.params["namespace"];
    const within = namespace === undefined ? undefined : String(namespace);
    const names: string[] = [];
    for await (const [name] of graph.getSubgraphsAsync(within, isSet(request.query["recurse"] as string | undefined))) names.push(name);
    response.json(Object.fromEntries(names.map((name) => [name, schemas])));
  }

  return makeRouter(assistantOperations, {
    async searchAssistants(request, response) {
      const asked = parseRequest(AssistantSearch, request.body);
      const { limit: most, offset: start, sort_by: by, sort_order: order, select } = asked;
      const from = start ?? 0;
      const found = await listFiltered(tenantOf(response), asked);
      const field = by ?? "name";
      found.sort((one, other) => (one[field] < other[field] ? -1 : one[field] > other[field] ? 1 : 0) * (order === "desc" ? -1 : 1));
      const page = found.slice(from, from + (most ?? 10)).map((assistant) => pickFields(assistant, select));
      response.json(fitAnswer(response, page, from, found.length));
    },
    async countAssistants(request, response) {
      const asked = parseRequest(AssistantFilter, request.body);
      response.json((await listFiltered(tenantOf(response), asked)).length);
    },
    async getAssistant(request, response) {
      response.json(await assistants.find(tenantOf(response), String(request.params["assistant_id"])));
    },
    async drawAssistant(request, response) {
      await assistants.find(tenantOf(response), String(request.params["assistant_id"]));
      const drawing = await graph.getGraphAsync({ xray: isSet(request.query["xray"] as string | undefined) });
      response.json(JSON.parse(JSON.stringify(drawing.toJSON())) as z.infer<typeof GraphDrawing>);
    },
    async getAssistantSchemas(request, response) {
      await assistants.find(tenantOf(response), String(request.params["assistant_id"]));
      response.json(schemas);
    },
    listSubgraphs: sendSubgraphs,
    listSubgraphsOf: sendSubgraphs,
    async listAssistantVersions(request, response) {
      const { limit: most, offset: start } = parseRequest(VersionsRequest, request.body);
      const from = start ?? 0;
      const tenantId = tenantOf(response);
      const found = await assistants.find(tenantId, String(request.params["assistant_id"]));
      if (found.metadata.tier === "system") return void response.json([found]);
      const page = { limit: Math.min(from + (most ?? 10), 1_000), before: null };
      const versions = (await stores.agents.versions(tenantId, found.name, page)).slice(from).map(({ version, spec, updatedAt }) => {
        const at = updatedAt.toISOString();
        return { ...found, version, description: spec?.description ?? found.description, created_at: at, updated_at: at };
      });
      response.json(fitAnswer(response, versions, from));
    },
  });
}
