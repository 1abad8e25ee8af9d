import { createHash } from "node:crypto";

/** The one thing by which an index knows whose a chunk is: a hash of tenant and knowledge base, made like an owner's key and never equal to one. */
export function knowledgeKey(tenantId: string, prefix: string): string {
  return createHash("sha256")
    .update(JSON.stringify(["knowledge", tenantId, prefix]))
    .digest("base64url");
}
