import { MilvusClient } from "@zilliz/milvus2-sdk-node";
import { bulkhead } from "cockatiel";
import { checkDefinition, checkName, type IndexDefinition, type SearchStore } from "../search-index.ts";
import { checkMilvusResponse, throwRefusal } from "./milvus-errors.ts";
import { makeReadiness, type Readiness } from "./collection-readiness.ts";
import { makeMilvusSearchIndex } from "./milvus-search-index.ts";
import { indexOfPart, makePartedIndex, partNames } from "./parted-index.ts";
import { collectionNames, exists, prepareCollection, refuseUndivided } from "./prepare-collection.ts";

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
  definition: IndexDefinition;
  readiness: Readiness;
}

function describe({ address, database }: MilvusAddress): string {
  const { host } = new URL(address.includes("://") ? address : `http://${address}`);
  return `Milvus at ${host}${database ? `/${database}` : ""}`;
}

export function connectMilvus(where: MilvusAddress, { timeoutMs, onError = () => undefined }: MilvusOptions): SearchStore {
  const { address, token, database } = where;
  const client = new MilvusClient({
    address,
    ...(token ? { token } : {}),
    ...(database ? { database } : {}),
    timeout: timeoutMs,
    maxRetries: 1,
    retryDelay: 50,
    channelOptions: CHANNEL_OPTIONS,
    telemetry: { enabled: false },
    logLevel: "error",
    // A failed first attempt would be remembered for ever. Every call connects by itself.
    __SKIP_CONNECT__: true,
  });
  const mutex = bulkhead(1, Number.POSITIVE_INFINITY);
  const check = async (): Promise<void> => void (await checkMilvusResponse(client.getVersion()));
  const patience = { answerMs: Math.max(timeoutMs, ANSWER_TIMEOUT_MS), workMs: PREPARE_TIMEOUT_MS };

  const readinessOf = (definition: IndexDefinition): Readiness =>
    makeReadiness(
      {
        isThere: () => exists(client, definition.name),
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
      checkDefinition(definition);
      await refuseUndivided(client, definition.name, patience.answerMs).catch(throwRefusal);
      const parts = partNames(definition.name).map((name): Part => {
        const part = { ...definition, name };
        return { definition: part, readiness: readinessOf(part) };
      });
      // Shows whether the server can serve. Others are created by their first write.
      await parts[0]?.readiness.prepare(true);
      void prepareAll(parts).catch(report);
      return makePartedIndex(
        parts.map((part) => makeMilvusSearchIndex({ client, ...part, mutex })),
        definition.dimensions,
      );
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
    },
    check: () => check().catch(throwRefusal),
    async close() {
      isClosed = true;
      await client.closeConnection();
    },
  };
}
