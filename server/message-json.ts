import type { StoredMessage } from "../stores/postgres/message-store.ts";

/** A message as the API shows it. */
export function messageToJson({ id, role, content, completed, createdAt, metadata }: StoredMessage) {
  return { id, role, content, completed, created_at: createdAt, metadata };
}
