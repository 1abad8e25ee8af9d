import { type GetVersionResponse, MilvusClient } from "@zilliz/milvus2-sdk-node";
import { bulkhead } from "cockatiel";
import { AppError } from "../../../errors/app-error.ts";
import type { Database } from "../../postgres/database/database.ts";
import { dropIndexTable, hasIndexTable, openIndexTable } from "../postgres/index-table.ts";
import { makePostgresSearchIndex } from "../postgres/postgres-search-index.ts";
import {
  checkDefinition,
  checkName,
  type IndexDefinition,
  type SearchIndex,
  type SearchStore,
  type VectorIndex,
} from "../contract/search-index.ts";
import { checkMilvusResponse, throwRefusal } from "./milvus-errors.ts";
import { makeReadiness, type Readiness } from "./collection-readiness.ts";
import { makeMilvusVectors } from "./milvus-vectors.ts";
import { indexOfPart, makePartedIndex, partNames } from "./parted-index.ts";
import { collectionNames, exists, prepareCollection, type VectorCollection } from "./prepare-collection.ts";

/** A Milvus server and its credentials. */
export interface MilvusAddress {
  /** "host:port", "http://host:port" or "https://host:port". */
  address: string;
  /** "user:password" or an API key. */
  token?: string | undefined;
  /** Default: the server's `default`. */
  database?: string | undefined;
}

export interface MilvusOptions {
  /** For a search, and for finding out whether the server answers. */
  timeoutMs: number;
  onError?: (error: unknown) => void;
}

/** In milliseconds. */
const PREPARE_TIMEOUT_MS = 30_000;
/** In milliseconds: longer than a search, so that slow servers get prepared. */
const ANSWER_TIMEOUT_MS = 5_000;
/** gRPC would wait up to two minutes to reconnect. Milvus Lite refuses keepalives more often than every five minutes. */
const CHANNEL_OPTIONS = {
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.min_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 1_000,
  "grpc.keepalive_time_ms": 310_000,
};

interface Part {
  definition: VectorCollection;
  readiness: Readiness;
}

function describe({ address, database }: MilvusAddress): string {
  const { host } = new URL(address.includes("://") ? address : `http://${address}`);
  return `Milvus at ${host}${database ? `/${database}` : ""}`;
}

function wordless(name: string, code: "invalid_configuration" | "index_unavailable" = "invalid_configuration"): AppError {
  const problem = `The search index "${name}" does not fit this service: Milvus has its vectors, but Postgres has no words of it.`;
  return new AppError(code, `${problem} Run \`npm run reindex\`.`);
}

/** An index whose words Postgres lacks. It is unavailable until `npm run reindex`. */
function onlyErasable(vectors: VectorIndex, { name, dimensions }: IndexDefinition): SearchIndex {
  const refuse = (): Promise<never> => Promise.reject(wordless(name, "index_unavailable"));
  return { ...vectors, dimensions, upsert: refuse, searchVectors: refuse, searchWords: refuse, listByWords: refuse, fetch: refuse };
}

export function connectMilvus(
  database: Database,
  where: MilvusAddress,
  { timeoutMs, onError = () => undefined }: MilvusOptions,
): SearchStore {
  const { address, token, database: milvusDatabase } = where;
  const client = new MilvusClient({
    address,
    ...(token ? { token } : {}),
    ...(milvusDatabase ? { database: milvusDatabase } : {}),
    timeout: timeoutMs,
    maxRetries: 1,
    retryDelay: 50,
    channelOptions: CHANNEL_OPTIONS,
    telemetry: { enabled: false },
    logLevel: "error",
    // A failed first attempt would be remembered for ever. Every call connects by itself.
    __SKIP_CONNECT__: true,
  });
  const check = (): Promise<GetVersionResponse> => checkMilvusResponse(client.getVersion());
  let lite: Promise<boolean> | undefined;
  function isLite(): Promise<boolean> {
    lite ??= check().then(({ version }) => version.startsWith("milvus_lite"));
    lite.catch(() => (lite = undefined));
    return lite;
  }
  const mutex = bulkhead(1, Number.POSITIVE_INFINITY);
  /** Milvus Lite takes one write at a time. */
  async function inTurn<Result>(write: () => Promise<Result>): Promise<Result> {
    return (await isLite().catch(throwRefusal)) ? mutex.execute(write) : write();
  }
  const patience = { answerMs: Math.max(timeoutMs, ANSWER_TIMEOUT_MS), workMs: PREPARE_TIMEOUT_MS };

  const readinessOf = (definition: VectorCollection): Readiness =>
    makeReadiness(
      {
        isThere: () => exists(client, definition.name),
        isLite,
        prepare: (creates) => prepareCollection(client, definition, { ...patience, creates }),
      },
      timeoutMs,
    );
  let isClosed = false;
  const report = (error: unknown): void => (isClosed ? undefined : onError(error));

  async function prepareAll(parts: readonly Part[]): Promise<void> {
    const names = await collectionNames(client);
    for (const { readiness } of parts.filter(({ definition }) => names.includes(definition.name))) {
      if (isClosed) return;
      await readiness.prepare(false).catch(report);
    }
  }

  return {
    kind: "milvus",
    level: "milvus",
    levelOf: async () => "milvus",
    description: describe(where),
    async openIndex(definition) {
      const { name, dimensions } = checkDefinition(definition);
      const names = await collectionNames(client, patience.answerMs).catch(throwRefusal);
      const isWordless = names.map(indexOfPart).includes(name) && !(await hasIndexTable(database, name));
      if (names.includes(name)) throw wordless(name);
      if (isWordless) report(wordless(name));
      else await openIndexTable(database, definition, "milvus");
      const parts = partNames(name).map((part): Part => {
        const collection = { name: part, dimensions };
        return { definition: collection, readiness: readinessOf(collection) };
      });
      // Shows whether the server can serve. The first write creates the others.
      await parts[0]?.readiness.prepare(!isWordless);
      void prepareAll(parts).catch(report);
      const vectors = makePartedIndex(parts.map((part) => makeMilvusVectors({ client, ...part, isLite, inTurn })));
      return isWordless ? onlyErasable(vectors, definition) : makePostgresSearchIndex(database, definition, vectors);
    },
    async listIndexes() {
      const names = await collectionNames(client).catch(throwRefusal);
      return [...new Set(names.map(indexOfPart))].toSorted();
    },
    async dropIndex(name) {
      // The plain name: indexes from before parts.
      for (const collection_name of [checkName(name), ...partNames(name)]) {
        await checkMilvusResponse(client.dropCollection({ collection_name, timeout: PREPARE_TIMEOUT_MS })).catch(throwRefusal);
      }
      await dropIndexTable(database, name);
    },
    check: async () => void (await check().catch(throwRefusal)),
    async close() {
      isClosed = true;
      await client.closeConnection();
    },
  };
}
