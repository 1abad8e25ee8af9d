import type { RetrievalMode } from "../turn/state.ts";

/** A named set of documents that a turn can be routed to. */
export interface KnowledgeBase {
  /** The `kb_prefix` of requests. */
  prefix: string;
  /** Empty: it is described by `titles`. */
  description: string;
  /** English ones match whole words, Chinese ones anywhere. */
  keywords: string[];
  /** The agent type of its turns, unless the caller chose one. Default `hybrid_agent`. */
  worker?: RetrievalMode;
  /** What the model is told in its turns. */
  instructions?: string;
  /** Of its newest documents, with their headings. */
  titles?: readonly string[];
}

/** The knowledge bases of tenants. */
export interface KnowledgeCatalog {
  list(tenantId: string): Promise<KnowledgeBase[]>;
}

/** The same fixed knowledge bases for every tenant. */
export function makeFixedKnowledgeCatalog(bases: KnowledgeBase[]): KnowledgeCatalog {
  return { list: async () => bases };
}
