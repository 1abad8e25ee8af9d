import { AppError } from "../../errors/app-error.ts";
import type { KnowledgeBase } from "../../stores/knowledge-catalog.ts";

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

/** The models of a tenant with these knowledge bases. */
export function listModels(bases: KnowledgeBase[]): ModelEntry[] {
  return [null, ...bases.map(({ prefix }) => prefix)].map((kbPrefix) => ({
    id: kbPrefix === null ? MODEL : `${MODEL}/${kbPrefix}`,
    object: "model",
    created: CREATED,
    owned_by: MODEL,
    kbPrefix,
  }));
}

/** The model of this id. Throws AppError `not_found`. */
export function findModel(id: string, bases: KnowledgeBase[]): ModelEntry {
  const models = listModels(bases);
  const found = models.find((model) => model.id === id);
  if (found) return found;
  const problem = `there is no model "${id.slice(0, 80)}"; there are ${models.map((model) => model.id).join(", ")}`;
  throw new AppError("not_found", `model: ${problem}`, { details: [{ field: "model", problem }] });
}
