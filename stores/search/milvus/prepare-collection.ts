import { setTimeout as sleep } from "node:timers/promises";
import type { MilvusClient } from "@zilliz/milvus2-sdk-node";
import { AppError } from "../../../errors/app-error.ts";
import type { IndexDefinition } from "../search-index.ts";
import { checkMilvusResponse } from "./check-milvus-response.ts";
import { collectionSchema, VECTOR_INDEXES } from "./collection-schema.ts";
import { MilvusRefusal } from "./milvus-refusal.ts";

const LOAD_POLL_MS = 50;

/** Throws AppError `invalid_configuration` when the collection of that name is another one. */
async function checkFields(client: MilvusClient, definition: IndexDefinition, timeout: number): Promise<void> {
  const { schema } = await checkMilvusResponse(client.describeCollection({ collection_name: definition.name, timeout }));
  const found = new Map(schema.fields.map((field) => [field.name, field]));
  const missing = collectionSchema(definition).fields.find(({ name }) => !found.has(name))?.name;
  const dimensions = Number(found.get("embedding")?.type_params.find(({ key }) => key === "dim")?.value);
  if (missing === undefined && dimensions === definition.dimensions) return;
  throw new AppError(
    "invalid_configuration",
    `The search index "${definition.name}" was made otherwise: ${missing === undefined ? `it has ${dimensions} dimensions, not ${definition.dimensions}` : `"${missing}" is missing`}. Run \`npm run reindex\`.`,
  );
}

async function indexedFields(client: MilvusClient, name: string, timeout: number): Promise<string[]> {
  try {
    const { index_descriptions } = await checkMilvusResponse(client.describeIndex({ collection_name: name, timeout }));
    return index_descriptions.map(({ field_name }) => field_name);
  } catch (error) {
    if (error instanceof MilvusRefusal && error.isIndexNotFound) return [];
    throw error;
  }
}

async function exists(client: MilvusClient, name: string, timeout: number): Promise<boolean> {
  const { value } = await checkMilvusResponse(client.hasCollection({ collection_name: name, timeout }));
  return value === true;
}

/** Throws AppError `invalid_configuration` when an index of this name was made before indexes had parts. */
export async function refuseUndivided(client: MilvusClient, name: string, timeout: number): Promise<void> {
  if (!(await exists(client, name, timeout))) return;
  throw new AppError(
    "invalid_configuration",
    `The search index "${name}" was made otherwise: it is one collection, not several. Run \`npm run reindex\`.`,
  );
}

async function create(client: MilvusClient, definition: IndexDefinition, timeout: number): Promise<void> {
  try {
    await checkMilvusResponse(client.createCollection({ ...collectionSchema(definition), timeout }));
  } catch (error) {
    // Another process may have been quicker.
    if (!(error instanceof MilvusRefusal) || !(await exists(client, definition.name, timeout))) throw error;
  }
}

/** In milliseconds: how long a server may take to answer at all, and to do what it is asked for. */
export interface Patience {
  answerMs: number;
  workMs: number;
}

/** Creates the collection and its indexes, as far as they are missing, and has it loaded; each step may have been the last before a crash. */
export async function prepareCollection(
  client: MilvusClient,
  definition: IndexDefinition,
  { answerMs, workMs: timeout }: Patience,
): Promise<void> {
  const collection_name = definition.name;
  if (!(await exists(client, collection_name, answerMs))) await create(client, definition, timeout);
  await checkFields(client, definition, timeout);
  const indexed = await indexedFields(client, collection_name, timeout);
  for (const index of VECTOR_INDEXES.filter(({ field_name }) => !indexed.includes(field_name))) {
    await checkMilvusResponse(client.createIndex({ collection_name, ...index, timeout }));
  }
  await checkMilvusResponse(client.loadCollectionAsync({ collection_name, timeout }));
  const deadline = Date.now() + timeout;
  for (;;) {
    const { progress } = await checkMilvusResponse(client.getLoadingProgress({ collection_name, timeout }));
    if (Number(progress) >= 100) return;
    if (Date.now() > deadline) throw new AppError("index_unavailable", `The search index "${collection_name}" is still being loaded.`);
    await sleep(LOAD_POLL_MS);
  }
}
