import { MilvusClient } from "@zilliz/milvus2-sdk-node";
import { bulkhead } from "cockatiel";
import { checkDefinition, checkName, type IndexDefinition, type SearchStore } from "../search-index.ts";
import { checkMilvusResponse, throwIndexError } from "./milvus-errors.ts";
import { makeReadiness, type Readiness } from "./collection-readiness.ts";
import { makeMilvusSearchIndex } from "./milvus-search-index.ts";
import { indexOfPart, makePartedIndex, partNames } from "./parted-index.ts";
import { collectionNames, exists, prepareCollection, refuseUndivided } from "./prepare-collection.ts";

/** Where a Milvus server is, and what opens it. */
export interface MilvusAddress {
  /** "host:port", "http://host:port" or "https://host:port". */
  address: string;
  /** "user:password" or an API key. */
  token?: string | undefined;
  /** Default: the server's `default`. */
  database?: string | undefined;
}

/** How long Milvus is waited for, and who hears of trouble. */
export interface MilvusOptions {
  /** In milliseconds: of a search, and of finding out whether the server is there. */
  timeoutMs: number;
  /** Hears why something could not be made ready beforehand; who needs it tries again. */
  onError?: (error: unknown) => void;
}

/**
 * Of a call that creates, looks up, loads or drops, in milliseconds: it may take long on a server that is well. Whether it
 * answers at all is asked before.
 */
const PREPARE_TIMEOUT_MS = 30_000;
/** How long that question may take: longer than a search, or an index in a slow server would never be prepared. Turns do not wait for it. */
const ANSWER_TIMEOUT_MS = 5_000;
/**
 * gRPC would wait up to two minutes before it looks again for a server that was away. And Milvus Lite closes the connection of who asks
 * more than every five minutes whether it is there.
 */
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

/** See openMilvusSearchStore, which loads this module with the SDK behind it. */
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
    // The first attempt to connect would be remembered for ever when it fails. Every call connects by itself.
    __SKIP_CONNECT__: true,
  });
  const inTurn = bulkhead(1, Number.POSITIVE_INFINITY);
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

  /** Prepares those parts that are there, one after the other, so that no search has to. What fails is tried again by who needs it. */
  async function prepareAll(parts: readonly Part[]): Promise<void> {
    const names = await collectionNames(client);
    for (const { readiness } of parts.filter(({ definition }) => names.includes(definition.name))) {
      if (isClosed) return;
      await readiness.prepare(false).catch(report);
    }
  }

  return {
    kind: "milvus",
    description: describe(where),
    async openIndex(definition) {
      checkDefinition(definition);
      await refuseUndivided(client, definition.name, patience.answerMs).catch(throwIndexError);
      const parts = partNames(definition.name).map((name): Part => {
        const part = { ...definition, name };
        return { definition: part, readiness: readinessOf(part) };
      });
      // The first tells whether the index can be had. The others are created by who first writes to one: a few users need few collections.
      await parts[0]?.readiness.prepare(true);
      void prepareAll(parts).catch(report);
      return makePartedIndex(
        parts.map((part) => makeMilvusSearchIndex({ client, ...part, inTurn })),
        definition.dimensions,
      );
    },
    async listIndexes() {
      const names = await collectionNames(client).catch(throwIndexError);
      return [...new Set(names.map(indexOfPart))].toSorted();
    },
    async dropIndex(name) {
      // Of that name alone: one that was made before indexes had parts.
      for (const collection_name of [checkName(name), ...partNames(name)]) {
        await checkMilvusResponse(client.dropCollection({ collection_name, timeout: PREPARE_TIMEOUT_MS })).catch(throwIndexError);
      }
    },
    check: () => check().catch(throwIndexError),
    async close() {
      isClosed = true;
      await client.closeConnection();
    },
  };
}
