import type { Request, Response, Router } from "express";
import { z } from "zod";
import { MemoryStore } from "../../memory/store/memory-store.ts";
import { isTooDeep } from "../../text/nesting.ts";
import { callerOf } from "../auth/caller.ts";
import type { Config } from "../settings/config.ts";
import type { Stores } from "../parts/open-stores.ts";
import type { Memory } from "../parts/open-memory.ts";
import { jsonBody, makeRouter, operationGroup, route, time } from "../http/operation.ts";
import { parseRequest, storableText, TOO_DEEP } from "../http/parse-request.ts";
import { holding, limit, offset } from "./assistant-routes.ts";
import { fitAnswer } from "./fit-answer.ts";
import { notOffered } from "./run-request.ts";

const label = storableText.max(200);
const namespace = z.array(label, "must be an array of labels").max(10);
const key = storableText.max(200).describe("A section of core memory, or any name of something that is archived.");

const ItemToPut = z.looseObject({
  namespace,
  key,
  value: z
    .record(z.string(), z.unknown(), "must be an object with content")
    .refine((value) => !isTooDeep(value), TOO_DEEP)
    .describe("`content`, and of a section the `version` that may be replaced."),
});
const ItemToDelete = z.looseObject({ namespace, key });
const ItemSearch = z.looseObject({
  namespace_prefix: namespace,
  filter: holding,
  limit: limit(),
  offset,
  query: storableText.max(4_000).nullish(),
});
const NamespaceSearch = z.looseObject({
  prefix: namespace.nullish(),
  suffix: namespace.nullish(),
  max_depth: z.int("must be a whole number").min(1).max(10).nullish(),
  limit: limit(),
  offset,
});

const StoreItem = z.object({
  namespace: z.array(z.string()),
  key: z.string(),
  value: z.record(z.string(), z.unknown()),
  created_at: time,
  updated_at: time,
  score: z.number().optional(),
});
const FoundItem = StoreItem.nullable();
const StoreItems = z.object({ items: z.array(StoreItem) });
const Namespaces = z.object({ namespaces: z.array(z.array(z.string())) });

export const storeOperations = operationGroup({
  tag: "LangGraph's protocol",
  schemas: { ItemToPut, ItemToDelete, ItemSearch, NamespaceSearch, StoreItem, FoundItem, StoreItems, Namespaces },
  routes: {
    putStoreItem: route("PUT /langgraph/store/items", "Writes a section of core memory, or archives something", {
      body: jsonBody(ItemToPut),
      answers: { 204: { what: "It is written.", content: {} } },
      errors: ["not_found", "not_offered", "stale_version", "conversation_busy"],
    }),
    getStoreItem: route("GET /langgraph/store/items", "One item; null when there is none", {
      query: z.object({
        namespace: storableText.describe("`USER.core` or `USER.archive`."),
        key: storableText,
      }),
      answer: FoundItem,
      errors: ["not_found"],
    }),
    deleteStoreItem: route("DELETE /langgraph/store/items", "Removes a section, or forgets something that was archived", {
      body: jsonBody(ItemToDelete),
      answers: { 204: { what: "It is gone.", content: {} } },
      errors: ["not_found", "conversation_busy"],
    }),
    searchStore: route("POST /langgraph/store/items/search", "Items of a user; with a `query` ranked as a turn would recall them", {
      body: jsonBody(ItemSearch),
      answer: StoreItems,
      errors: ["not_found", "index_unavailable"],
    }),
    listNamespaces: route("POST /langgraph/store/namespaces", "What a user has items in", {
      body: jsonBody(NamespaceSearch),
      answer: Namespaces,
      errors: ["not_found"],
    }),
  },
});

type Shown = z.infer<typeof StoreItem>;
type Found = NonNullable<Awaited<ReturnType<MemoryStore["get"]>>> & { score?: number };

function toShown({ namespace: labels, key: name, value, createdAt, updatedAt, score }: Found): Shown {
  return {
    namespace: labels,
    key: name,
    value,
    created_at: createdAt.toISOString(),
    updated_at: updatedAt.toISOString(),
    ...(score === undefined ? {} : { score }),
  };
}

/** A user's id may have periods, by which clients join labels. */
function labelsOf(joined: string): string[] {
  const end = joined.lastIndexOf(".");
  return end < 0 ? [joined] : [joined.slice(0, end), joined.slice(end + 1)];
}

/** Core memory and archived memories as a store of LangGraph. */
export function storeRoutes({
  config,
  stores,
  memory,
}: {
  config: Config;
  stores: Pick<Stores, "coreMemory" | "database" | "imports">;
  memory: Memory;
}): Router {
  const storeFor = (response: Response): MemoryStore =>
    new MemoryStore({
      database: stores.database,
      coreMemory: stores.coreMemory,
      imports: stores.imports,
      erase: memory.erase,
      recall: memory.episodes?.memory.recall ?? null,
      sections: memory.sections,
      jobKinds: memory.jobKinds,
      scope: callerOf(response),
      maxCharacters: config.MAX_MESSAGE_CHARS,
    });

  return makeRouter(storeOperations, {
    async putStoreItem(request: Request, response) {
      const { namespace: labels, key: name, value, ...others } = parseRequest(ItemToPut, request.body);
      const { index, ttl } = others as { index?: unknown; ttl?: unknown };
      if (index !== undefined && index !== null) throw notOffered("index", "core memory is never indexed, the archive always is");
      if (ttl !== undefined && ttl !== null) throw notOffered("ttl", "an item is kept until it is deleted, or for RETENTION_DAYS");
      await storeFor(response).batch([{ namespace: labels, key: name, value }]);
      response.status(204).end();
    },
    async getStoreItem(request, response) {
      const { namespace: joined, key: name } = parseRequest(storeOperations.routes.getStoreItem.query, request.query);
      const [item] = await storeFor(response).batch([{ namespace: labelsOf(joined), key: name }]);
      response.json(item ? toShown(item) : null);
    },
    async deleteStoreItem(request, response) {
      const { namespace: labels, key: name } = parseRequest(ItemToDelete, request.body);
      await storeFor(response).batch([{ namespace: labels, key: name, value: null }]);
      response.status(204).end();
    },
    async searchStore(request, response) {
      const { namespace_prefix: namespacePrefix, filter, limit: most, offset: from, query } = parseRequest(ItemSearch, request.body);
      const asked = { limit: most ?? 10, offset: from ?? 0, ...(filter ? { filter } : {}), ...(query ? { query } : {}) };
      const [items = []] = await storeFor(response).batch([{ namespacePrefix, ...asked }]);
      response.json({ items: fitAnswer(response, items.map(toShown), asked.offset) });
    },
    async listNamespaces(request, response) {
      const { prefix, suffix, max_depth: maxDepth, limit: most, offset: from } = parseRequest(NamespaceSearch, request.body);
      const matchConditions = [
        ...(prefix ? [{ matchType: "prefix" as const, path: prefix }] : []),
        ...(suffix ? [{ matchType: "suffix" as const, path: suffix }] : []),
      ];
      const asked = { matchConditions, limit: most ?? 100, offset: from ?? 0, ...(maxDepth ? { maxDepth } : {}) };
      const [namespaces = []] = await storeFor(response).batch([asked]);
      response.json({ namespaces });
    },
  });
}
