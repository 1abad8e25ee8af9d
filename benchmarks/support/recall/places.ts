import { startMilvusServer, startStandaloneMilvus, whyNoMilvus, whyNoStandaloneMilvus } from "../../../test/servers/milvus-server.ts";
import { startPostgresServer } from "../../../test/servers/postgres-server.ts";
import { startVectorPostgres, whyNoVectorPostgres } from "../../../test/servers/vector-postgres.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { IN_MEMORY, openEmbeddedPostgres } from "../../../stores/postgres/database/open-embedded-postgres.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { openMilvusSearchStore } from "../../../stores/search/milvus/open-milvus-search-store.ts";
import { openPostgresSearchStore } from "../../../stores/search/postgres/open-postgres-search-store.ts";
import type { SearchStore } from "../../../stores/search/contract/search-index.ts";

/** An empty database, and the store of its index. */
export interface Place {
  name: string;
  /** Why it is not available here. */
  whyNot(): Promise<string | undefined>;
  open(opening: AsyncDisposableStack): Promise<{ database: Database; store: SearchStore }>;
}

const PATIENT_MS = 60_000;

async function openOn(opening: AsyncDisposableStack, database: Database) {
  opening.defer(() => database.close());
  return { database, store: await openPostgresSearchStore(database) };
}

async function openServer(opening: AsyncDisposableStack, start: typeof startVectorPostgres): Promise<Database> {
  const server = await start();
  opening.defer(() => server.stop());
  return openPostgres(server.url);
}

async function openOnMilvus(opening: AsyncDisposableStack, start: typeof startMilvusServer) {
  const milvus = await start();
  opening.defer(() => milvus.remove());
  const database = await openServer(opening, startPostgresServer);
  opening.defer(() => database.close());
  const store = await openMilvusSearchStore(database, { address: milvus.address }, { timeoutMs: PATIENT_MS });
  opening.defer(() => store.close());
  return { database, store };
}

export const PGLITE: Place = {
  name: "PGlite",
  whyNot: async () => undefined,
  open: async (opening) => openOn(opening, await openEmbeddedPostgres(IN_MEMORY)),
};

const MILVUS_LITE: Place = {
  name: "Postgres, Milvus Lite",
  whyNot: whyNoMilvus,
  open: (opening) => openOnMilvus(opening, startMilvusServer),
};

/** One at a time runs on a machine: its etcd has a port of its own. */
const MILVUS: Place = {
  name: "Postgres, Milvus",
  whyNot: whyNoStandaloneMilvus,
  open: (opening) => openOnMilvus(opening, startStandaloneMilvus),
};

/** One for each level of a search index, and the embedded database. */
export const PLACES: readonly Place[] = [
  PGLITE,
  {
    name: "a plain Postgres",
    whyNot: async () => undefined,
    open: async (opening) => openOn(opening, await openServer(opening, startPostgresServer)),
  },
  {
    name: "Postgres, pgvector",
    whyNot: whyNoVectorPostgres,
    open: async (opening) => openOn(opening, await openServer(opening, startVectorPostgres)),
  },
  MILVUS_LITE,
];

/** The same, with the Milvus server itself where it can be installed. */
export async function placesToMeasure(): Promise<readonly Place[]> {
  if ((await MILVUS.whyNot()) !== undefined) return PLACES;
  return PLACES.map((place) => (place === MILVUS_LITE ? MILVUS : place));
}
