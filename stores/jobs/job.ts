import type { OwnedConversation, Owner } from "../owner.ts";
import { ownerKey } from "../search/index-keys.ts";

/** Kinds of jobs about one conversation: erased with it, awaited by `settle`. */
export const CONVERSATION_JOB_KINDS = ["summarise", "index_episodes"] as const;

/** Updates a conversation's summary, or its episodes. */
export interface ConversationJob<
  Kind extends (typeof CONVERSATION_JOB_KINDS)[number] = (typeof CONVERSATION_JOB_KINDS)[number],
> extends Owner {
  kind: Kind;
  conversationId: string;
}

/** Has the memory agent read a user's new turns; one job a user. */
export interface RememberJob extends Owner {
  kind: "remember";
}

/** Removes erased entries from the index. Holds hashes and ids only. */
export interface EraseEpisodesJob {
  kind: "erase_episodes";
  id: string;
  ownerKey: string;
  groupIds: string[];
  episodeIds: string[];
  /** `chunks` of documents; else episodes. */
  of?: "chunks";
}

/** Purges, in batches, what a large erase has soft-deleted. */
export interface EraseJob {
  kind: "erase";
  id: string;
}

/** Rewrites the files of an embedded database without what was erased. */
export interface VacuumJob {
  kind: "vacuum";
}

/** Reads a document, indexes it and publishes it. */
export interface IngestJob {
  kind: "ingest";
  tenantId: string;
  documentId: string;
}

/** Work left after a turn or a request. Holds ids only, never text. */
export type Job =
  ConversationJob<"summarise"> | ConversationJob<"index_episodes"> | RememberJob | EraseJob | EraseEpisodesJob | VacuumJob | IngestJob;

export type JobKind = Job["kind"];

export const JOB_KINDS = [
  ...CONVERSATION_JOB_KINDS,
  "remember",
  "erase",
  "erase_episodes",
  "vacuum",
  "ingest",
] as const satisfies readonly JobKind[];

/** Jobs that new messages give rise to, by layer of memory. */
export type LayerJobKind = Exclude<JobKind, "erase" | "erase_episodes" | "vacuum" | "ingest">;

export function layerJob(kind: LayerJobKind, { tenantId, userId, conversationId }: OwnedConversation): Job {
  return kind === "remember" ? { kind, tenantId, userId } : { kind, tenantId, userId, conversationId };
}

/** Keys of all jobs a conversation can have. */
export function conversationJobKeys(conversationId: string): string[] {
  return CONVERSATION_JOB_KINDS.map((kind) => `${kind}/${conversationId}`);
}

/** Key of a user's one job. */
export function ownerJobKey({ tenantId, userId }: Owner): string {
  return `remember/${ownerKey(tenantId, userId)}`;
}

/** At most one job waits or runs under a key: a second would find the same work. */
export function jobKey(job: Job): string {
  if (job.kind === "remember") return ownerJobKey(job);
  if (job.kind === "vacuum") return job.kind;
  if (job.kind === "erase" || job.kind === "erase_episodes") return `${job.kind}/${job.id}`;
  return `${job.kind}/${job.kind === "ingest" ? job.documentId : job.conversationId}`;
}

/** A job this process works on. `id` and `retryCount` identify the claim. */
export interface ClaimedJob {
  id: string;
  retryCount: number;
  job: Job;
  /** When it was added, retries included. */
  createdAt: Date;
  /** Runs that never ended: their process died, or lost its heartbeat. */
  unended: number;
}
