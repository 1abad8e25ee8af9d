/** A named set of documents that a turn can be routed to. */
export interface KnowledgeBase {
  /** What callers send as kb_prefix. */
  prefix: string;
  description: string;
  /** Words that route a message here. English ones match whole words, Chinese ones anywhere. */
  keywords: string[];
  /** The agent type for its turns, unless the caller chose one. */
  worker?: string;
  /** Titles of its newest documents, for routing. */
  titles?: readonly string[];
}

/** The knowledge bases of tenants. */
export interface KnowledgeCatalog {
  /** All of a tenant. */
  list(tenantId: string): Promise<KnowledgeBase[]>;
}

/** The same fixed knowledge bases for every tenant. */
export function makeFixedKnowledgeCatalog(bases: KnowledgeBase[]): KnowledgeCatalog {
  return { list: async () => bases };
}
