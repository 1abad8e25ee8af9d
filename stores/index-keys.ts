import { createHash } from "node:crypto";
import { v5 as uuidv5 } from "uuid";

/** The hash by which an index knows an owner: no text of a caller is ever part of a filter. */
export function ownerKey(tenantId: string, userId?: string): string {
  const parts = userId === undefined ? [tenantId] : [tenantId, userId];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}

/** The hash of a knowledge base, never equal to an owner's key. */
export function knowledgeKey(tenantId: string, prefix: string): string {
  return createHash("sha256")
    .update(JSON.stringify(["knowledge", tenantId, prefix]))
    .digest("base64url");
}

const NAMESPACE = "0d0c6a52-6d0e-4f55-9a5e-5a4f1f0a8f3b";

/** A hash, as sweep jobs may hold nothing else. */
export function episodeGroupId(conversationId: string): string {
  return uuidv5(conversationId, NAMESPACE);
}

const OWNER_KEY = /^[A-Za-z0-9_-]{43}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

function refuse(kind: string, value: string): never {
  throw new TypeError(`"${value.slice(0, 80)}" is no ${kind}: nothing that a caller wrote may become part of a filter.`);
}

/** Throws TypeError for anything but such a key. */
export function checkOwnerKey(key: string): string {
  return OWNER_KEY.test(key) ? key : refuse("owner key", key);
}

/** Throws TypeError unless it is a UUID in lower case: stores compare ids as text or as numbers. */
export function checkUuid(id: string): string {
  return UUID.test(id) ? id : refuse("UUID in small letters", id);
}

export function checkMoment(moment: Date): Date {
  if (Number.isSafeInteger(moment.getTime())) return moment;
  throw new TypeError("A moment of a filter is no valid date.");
}
