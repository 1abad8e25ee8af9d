import type { Owner } from "../owner.ts";

/** Kinds of jobs about a conversation: erased with it, and what `settle` waits for. */
export const CONVERSATION_JOB_KINDS = ["summarise", "index_episodes"] as const;

/** Brings a conversation's summary up to date, or its episodes. */
export interface ConversationJob<
  Kind extends (typeof CONVERSATION_JOB_KINDS)[number] = (typeof CONVERSATION_JOB_KINDS)[number],
> extends Owner {
  kind: Kind;
  conversationId: string;
}

/** Takes what was erased out of the index once more, when nothing can write it there any longer. Holds hashes only. */
export interface EraseEpisodesJob {
  kind: "erase_episodes";
  ownerKey: string;
  groupId: string;
}

/** What remains to be done after a turn or a request, away from it. Holds ids only, never what was said. */
export type Job = ConversationJob<"summarise"> | ConversationJob<"index_episodes"> | EraseEpisodesJob;
export type JobKind = Job["kind"];

export const JOB_KINDS = [...CONVERSATION_JOB_KINDS, "erase_episodes"] as const satisfies readonly JobKind[];

/** Keys of all jobs that a conversation can have. */
export function conversationJobKeys(conversationId: string): string[] {
  return CONVERSATION_JOB_KINDS.map((kind) => `${kind}/${conversationId}`);
}

/** At most one job waits or runs under a key: a second one would find the same work. */
export function jobKey(job: Job): string {
  return `${job.kind}/${job.kind === "erase_episodes" ? job.groupId : job.conversationId}`;
}

/** A job that this process works on. `id` and `retryCount` together name the claim: a later one of the same job is another's. */
export interface ClaimedJob {
  id: string;
  retryCount: number;
  job: Job;
  /** When it was added; trying again does not change it. */
  createdAt: Date;
}
