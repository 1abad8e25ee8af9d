import { AppError } from "../../errors/app-error.ts";
import type { KnowledgeBase } from "../../stores/knowledge-catalog.ts";
import type { KnowledgeBaseStore } from "../../stores/postgres/knowledge-base-store.ts";
import { PREFIX } from "../knowledge-request.ts";

/** The model that finds documents by itself; one more for each knowledge base answers from that one. */
const MODEL = "conversation-graph";
/** Clients want a time; models here have none: 2026-01-01. */
const CREATED = Date.UTC(2026, 0, 1) / 1_000;

export interface ModelEntry {
  id: string;
  object: "model";
  created: number;
  owned_by: string;
  /** The kb_prefix that this model asks for, null for none in particular. */
  kbPrefix: string | null;
}

function toEntry(kbPrefix: string | null): ModelEntry {
  const id = kbPrefix === null ? MODEL : `${MODEL}/${kbPrefix}`;
  return { id, object: "model", created: CREATED, owned_by: MODEL, kbPrefix };
}

/** The models of a tenant with these knowledge bases. */
export function listModels(bases: KnowledgeBase[]): ModelEntry[] {
  return [null, ...bases.map(({ prefix }) => prefix)].map(toEntry);
}

/** The model of this id. Throws AppError `not_found`, which names those that there are; only for that they are listed. */
export async function findModel(id: string, tenantId: string, bases: Pick<KnowledgeBaseStore, "find" | "list">): Promise<ModelEntry> {
  if (id === MODEL) return toEntry(null);
  const prefix = id.startsWith(`${MODEL}/`) ? id.slice(MODEL.length + 1) : "";
  if (PREFIX.test(prefix) && (await bases.find(tenantId, prefix))) return toEntry(prefix);
  const models = listModels(await bases.list(tenantId));
  const problem = `there is no model "${id.slice(0, 80)}"; there are ${models.map((model) => model.id).join(", ")}`;
  throw new AppError("not_found", `model: ${problem}`, { details: [{ field: "model", problem }] });
}
