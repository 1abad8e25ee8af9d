import type { SearchStore } from "../search-index.ts";

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
 * Indexes in a Milvus server, or in Milvus Lite. Does not throw when the server is away: openIndex does, AppError `index_unavailable`, and an
 * index once opened comes back by itself.
 */
export async function openMilvusSearchStore(where: MilvusAddress, options: MilvusOptions): Promise<SearchStore> {
  // Only now: loading the SDK takes longer than the rest of the service together.
  const { connectMilvus } = await import("./connect-milvus.ts");
  return connectMilvus(where, options);
}
