/** A named set of documents that a turn can be routed to. */
export interface KnowledgeBase {
  /** The name callers use as kb_prefix. */
  prefix: string;
  description: string;
  /** A message with one of these words is routed here. English words match whole words, Chinese ones anywhere. */
  keywords: string[];
  /** The agent type its owner wants turns to have; what the caller chose goes before. */
  worker?: string;
  /** Titles of its documents, for routing by meaning: the catalog caps them. */
  titles?: readonly string[];
}

/** Which knowledge bases a tenant has. */
export interface KnowledgeCatalog {
  /** All of them; a tenant without any has none. */
  list(tenantId: string): Promise<KnowledgeBase[]>;
}

/** The same fixed knowledge bases for every tenant. */
export function makeFixedKnowledgeCatalog(bases: KnowledgeBase[]): KnowledgeCatalog {
  return { list: async () => bases };
}
