import { checkEmbedding } from "../check-embedding.ts";
import { checkOwnerKey, checkUuid } from "../check-key.ts";
import type { IndexDefinition, SearchDocument, SearchHit } from "../search-index.ts";
import { storableText } from "../storable-text.ts";
import { MAX_TEXT_BYTES } from "./collection-schema.ts";

export type MilvusRow = Record<string, string | number | number[]>;

/** As much of the beginning as fits, whole characters. */
function fitting(text: string): string {
  const storable = storableText(text);
  if (storable.length * 3 <= MAX_TEXT_BYTES) return storable;
  const bytes = Buffer.from(storable);
  // A decoder that expects more to come leaves out the character that is cut.
  return bytes.length <= MAX_TEXT_BYTES ? storable : new TextDecoder().decode(bytes.subarray(0, MAX_TEXT_BYTES), { stream: true });
}

export function toMilvusRow(document: SearchDocument, { dimensions, attributes }: IndexDefinition): MilvusRow {
  const own = Object.entries(attributes).map(([name, type]) => {
    const value = document.attributes[name];
    return [name, type === "number" ? Number(value) : fitting(String(value))] as const;
  });
  return {
    id: checkUuid(document.id),
    owner_key: checkOwnerKey(document.ownerKey),
    group_id: checkUuid(document.groupId),
    previous_id: document.previousId === null ? "" : checkUuid(document.previousId),
    created_at: document.createdAt.getTime(),
    lexical_text: fitting(document.lexicalText),
    embedding: [...checkEmbedding(document.embedding, dimensions)],
    ...Object.fromEntries(own),
  };
}

/** The fields that toHit needs. */
export function hitFields({ attributes }: IndexDefinition): string[] {
  return ["id", "owner_key", "group_id", "previous_id", "created_at", ...Object.keys(attributes)];
}

export function toHit(row: Readonly<Record<string, unknown>>, score: number, { attributes }: IndexDefinition): SearchHit {
  const own = Object.entries(attributes).map(([name, type]) => [name, type === "number" ? Number(row[name]) : String(row[name])] as const);
  return {
    id: String(row["id"]),
    ownerKey: String(row["owner_key"]),
    groupId: String(row["group_id"]),
    previousId: row["previous_id"] === "" ? null : String(row["previous_id"]),
    createdAt: new Date(Number(row["created_at"])),
    score,
    attributes: Object.fromEntries(own),
  };
}
