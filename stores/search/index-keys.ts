import { createHash } from "node:crypto";
import { v5 as uuidv5 } from "uuid";

/**
 * The one thing by which an index knows whose a document is: base64url of a SHA-256 over tenant and user (or the tenant alone). Nothing
 * that a caller wrote is ever part of a filter expression, and the parts cannot run into each other.
 */
export function ownerKey(tenantId: string, userId?: string): string {
  const parts = userId === undefined ? [tenantId] : [tenantId, userId];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}

/** The one thing by which an index knows whose a chunk is: a hash of tenant and knowledge base, made like an owner's key and never equal to one. */
export function knowledgeKey(tenantId: string, prefix: string): string {
  return createHash("sha256")
    .update(JSON.stringify(["knowledge", tenantId, prefix]))
    .digest("base64url");
}

/** Namespace of the ids below, drawn at random once. */
const NAMESPACE = "0d0c6a52-6d0e-4f55-9a5e-5a4f1f0a8f3b";

/**
 * What the episodes of a conversation are erased by: a hash of its id, so that the job which clears the index after an erase holds nothing
 * of what was erased.
 */
export function episodeGroupId(conversationId: string): string {
  return uuidv5(conversationId, NAMESPACE);
}

const OWNER_KEY = /^[A-Za-z0-9_-]{43}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

function refuse(kind: string, value: string): never {
  throw new TypeError(`"${value.slice(0, 80)}" is no ${kind}: nothing that a caller wrote may become part of a filter.`);
}

/** The same key, when it is one of owner-key.ts. Throws TypeError otherwise. */
export function checkOwnerKey(key: string): string {
  return OWNER_KEY.test(key) ? key : refuse("owner key", key);
}

/** The same id, when it is a UUID in small letters: the stores compare ids as text or as numbers. Throws TypeError otherwise. */
export function checkUuid(id: string): string {
  return UUID.test(id) ? id : refuse("UUID in small letters", id);
}

/** The same moment, when it is one. Throws TypeError otherwise. */
export function checkMoment(moment: Date): Date {
  if (Number.isSafeInteger(moment.getTime())) return moment;
  throw new TypeError("A moment of a filter is no valid date.");
}
