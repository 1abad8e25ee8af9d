import type { OwnedConversation, Owner } from "../../turn/owner.ts";
import { ownerKey } from "../index-keys.ts";

/** Jobs about one conversation: erased with it, awaited by `settle`. */
const CONVERSATION_JOB_KINDS = ["summarise", "index_episodes", "title"] as const;

export interface ConversationJob<
  Kind extends (typeof CONVERSATION_JOB_KINDS)[number] = (typeof CONVERSATION_JOB_KINDS)[number],
> extends Owner {
  kind: Kind;
  conversationId: string;
}

export interface RememberJob extends Owner {
  kind: "remember";
}

/** Removes entries from the index. Holds hashes and ids only. */
export interface EraseEpisodesJob {
  kind: "erase_episodes";
  id: string;
  ownerKey: string;
  groupIds: string[];
  episodeIds: string[];
  /** Default episodes. */
  of?: "chunks";
}

export interface EraseJob {
  kind: "erase";
  id: string;
}

/** Rewrites the files of an embedded database without erased text. */
export interface VacuumJob {
  kind: "vacuum";
}

/** Erases conversations that are past RETENTION_DAYS, then waits for its next time. */
export interface EraseUnusedJob {
  kind: "erase_unused";
}

/** Reports a question to QUESTION_WEBHOOK_URL. */
export interface TellQuestionJob extends Owner {
  kind: "tell_question";
  turnId: string;
  questionId: string;
}

export interface IngestJob {
  kind: "ingest";
  tenantId: string;
  documentId: string;
}

/** Holds ids only, never text. */
export type Job =
  | ConversationJob<"summarise">
  | ConversationJob<"index_episodes">
  | ConversationJob<"title">
  | RememberJob
  | EraseJob
  | EraseEpisodesJob
  | EraseUnusedJob
  | TellQuestionJob
  | VacuumJob
  | IngestJob;

export type JobKind = Job["kind"];

export const JOB_KINDS = [
  ...CONVERSATION_JOB_KINDS,
  "remember",
  "erase",
  "erase_episodes",
  "erase_unused",
  "tell_question",
  "vacuum",
  "ingest",
] as const satisfies readonly JobKind[];

export type LayerJobKind = Exclude<JobKind, "tell_question" | "erase" | "erase_episodes" | "erase_unused" | "vacuum" | "ingest">;

export function layerJob(kind: LayerJobKind, { tenantId, userId, conversationId }: OwnedConversation): Job {
  return kind === "remember" ? { kind, tenantId, userId } : { kind, tenantId, userId, conversationId };
}

export function conversationJobKeys(conversationId: string): string[] {
  return CONVERSATION_JOB_KINDS.map((kind) => `${kind}/${conversationId}`);
}

export function ownerJobKey({ tenantId, userId }: Owner): string {
  return `remember/${ownerKey(tenantId, userId)}`;
}

/** At most one job waits or runs under a key. */
export function jobKey(job: Job): string {
  if (job.kind === "remember") return ownerJobKey(job);
  if (job.kind === "vacuum" || job.kind === "erase_unused") return job.kind;
  if (job.kind === "tell_question") return `tell_question/${job.questionId}`;
  if (job.kind === "erase" || job.kind === "erase_episodes") return `${job.kind}/${job.id}`;
  return `${job.kind}/${job.kind === "ingest" ? job.documentId : job.conversationId}`;
}

/** `id` and `retryCount` identify the claim. */
export interface ClaimedJob {
  id: string;
  retryCount: number;
  job: Job;
  /** By the clock of `performance.now()`, no later than the claim. */
  claimedAt: number;
  createdAt: Date;
  /** It could start from then on. */
  dueAt: Date;
  /** Runs whose process died or lost its heartbeat. */
  unended: number;
  isLast: boolean;
}
