import { findResidualData, type ResidualData } from "../../../memory/erase/find-residual-data.ts";
import type { Owner } from "../../../turn/owner.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { listIndexNames } from "../../../stores/search/open-episode-index.ts";
import type { Config } from "../../settings/config.ts";
import { openSearchStore } from "../../parts/open-memory.ts";

export interface Audit {
  places: ResidualData[];
  /** Indexes in a Milvus that is not configured. */
  notSearched: string[];
}

/** Everything that the stores hold of a user. Throws AppError when one cannot be searched. */
export async function auditUser(config: Config, database: Database, owner: Owner): Promise<Audit> {
  if (config.MILVUS_ADDRESS === undefined) {
    // An index in this database is among its tables.
    const [places, notSearched] = await Promise.all([findResidualData(database, null, owner), listIndexNames(database, "milvus")]);
    return { places, notSearched };
  }
  const store = await openSearchStore(config, database);
  try {
    return { places: await findResidualData(database, store, owner), notSearched: [] };
  } finally {
    await store.close();
  }
}
