import type { OwnedConversation, Owner } from "../owner.ts";
import { ownerKey } from "../search/index-keys.ts";

/** Kinds of jobs about a conversation: erased with it, and what `settle` waits for. */
export const CONVERSATION_JOB_KINDS = ["summarise", "index_episodes"] as const;

/** Brings a conversation's summary up to date, or its episodes. */
export interface ConversationJob<
  Kind extends (typeof CONVERSATION_JOB_KINDS)[number] = (typeof CONVERSATION_JOB_KINDS)[number],
> extends Owner {
  kind: Kind;
  conversationId: string;
}

/** Has the memory agent read what is unread of a user's conversations: one at a time for each user. */
export interface RememberJob extends Owner {
  kind: "remember";
}

/** Takes what was erased out of the index. Holds hashes and ids only. */
export interface EraseEpisodesJob {
  kind: "erase_episodes";
  id: string;
  ownerKey: string;
  groupIds: string[];
  episodeIds: string[];
  /** `chunks`: of documents, not of conversations. */
  of?: "chunks";
}

/** Takes out, batch by batch, what a large erase has set aside. */
export interface EraseJob {
  kind: "erase";
  /** Of the erasure. */
  id: string;
}

/** Writes the files of an embedded database anew, without what was erased. */
export interface VacuumJob {
  kind: "vacuum";
}

/** Reads a document, indexes it and lets it answer. */
export interface IngestJob {
  kind: "ingest";
  tenantId: string;
  documentId: string;
}

/** What remains to be done after a turn or a request, away from it. Holds ids only, never what was said. */
export type Job =
  ConversationJob<"summarise"> | ConversationJob<"index_episodes"> | RememberJob | EraseJob | EraseEpisodesJob | VacuumJob | IngestJob;

/** What a job does. */
export type JobKind = Job["kind"];

export const JOB_KINDS = [
  ...CONVERSATION_JOB_KINDS,
  "remember",
  "erase",
  "erase_episodes",
  "vacuum",
  "ingest",
] as const satisfies readonly JobKind[];

/** The jobs that new messages of a conversation give rise to, by layer of memory. */
export type LayerJobKind = Exclude<JobKind, "erase" | "erase_episodes" | "vacuum" | "ingest">;

export function layerJob(kind: LayerJobKind, { tenantId, userId, conversationId }: OwnedConversation): Job {
  return kind === "remember" ? { kind, tenantId, userId } : { kind, tenantId, userId, conversationId };
}

/** Keys of all jobs that a conversation can have. */
export function conversationJobKeys(conversationId: string): string[] {
  return CONVERSATION_JOB_KINDS.map((kind) => `${kind}/${conversationId}`);
}

/** Key of the one job that a user can have. */
export function ownerJobKey({ tenantId, userId }: Owner): string {
  return `remember/${ownerKey(tenantId, userId)}`;
}

/** At most one job waits or runs under a key: a second one would find the same work. */
export function jobKey(job: Job): string {
  if (job.kind === "remember") return ownerJobKey(job);
  if (job.kind === "vacuum") return job.kind;
  if (job.kind === "erase" || job.kind === "erase_episodes") return `${job.kind}/${job.id}`;
  return `${job.kind}/${job.kind === "ingest" ? job.documentId : job.conversationId}`;
}

/** A job that this process works on. `id` and `retryCount` together name the claim: a later one of the same job is another's. */
export interface ClaimedJob {
  id: string;
  retryCount: number;
  job: Job;
  /** When it was added; trying again does not change it. */
  createdAt: Date;
  /** How many of its runs never ended: their process died, or did not let its heartbeat beat. */
  unended: number;
}
