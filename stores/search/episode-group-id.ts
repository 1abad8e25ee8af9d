import { v5 as uuidv5 } from "uuid";

/** Namespace of the ids below, drawn at random once. */
const NAMESPACE = "0d0c6a52-6d0e-4f55-9a5e-5a4f1f0a8f3b";

/**
 * What the episodes of a conversation are erased by: a hash of its id, so that the job which clears the index after an erase holds nothing
 * of what was erased.
 */
export function episodeGroupId(conversationId: string): string {
  return uuidv5(conversationId, NAMESPACE);
}
