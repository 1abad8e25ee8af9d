import { createHash } from "node:crypto";

/**
 * The one thing by which an index knows whose a document is: base64url of a SHA-256 over tenant and user (or the tenant alone). Nothing
 * that a caller wrote is ever part of a filter expression, and the parts cannot run into each other.
 */
export function ownerKey(tenantId: string, userId?: string): string {
  const parts = userId === undefined ? [tenantId] : [tenantId, userId];
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}
