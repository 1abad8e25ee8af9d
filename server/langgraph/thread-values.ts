import { AIMessage, type BaseMessage, type ContentBlock, HumanMessage } from "@langchain/core/messages";
import { z } from "zod";
import type { StoredMessage } from "../../stores/postgres/conversations/message-store.ts";
import type { StoredSummary } from "../../stores/postgres/memory/summary-store.ts";
import type { TurnOutcome } from "../../turn/outcome.ts";
import { type ConversationState, type ConversationUpdate, Receipt, RouteDecision } from "../../turn/state.ts";
import { TurnUsage } from "../../turn/usage.ts";

/** The newest messages of a path that a state has. */
export const MOST_MESSAGES = 200;

/** As LangChain writes messages: `type` is `human` or `ai`. */
export const MessageDict = z.looseObject({ type: z.string(), id: z.string().nullish(), content: z.unknown() });
export type MessageDict = z.infer<typeof MessageDict>;

export const ThreadValues = z
  .object({
    messages: z.array(MessageDict).describe(`The newest ${MOST_MESSAGES}, oldest first, under their own ids.`),
    summary: z.object({ text: z.string().nullable(), version: z.number(), covered_message_count: z.number() }).nullable(),
    core_memory: z.array(z.object({ section: z.string(), content: z.string().nullable(), version: z.number() })),
    route_decision: RouteDecision.nullable(),
    episodic_memory: Receipt.shape.episodes,
    retrieval_results: Receipt.shape.passages,
    receipt: Receipt.nullable(),
    usage: TurnUsage.nullable(),
  })
  .partial();
export type ThreadValues = z.infer<typeof ThreadValues>;

export function toMessageDict(message: BaseMessage): MessageDict {
  const { type, data } = message.toDict();
  return { ...data, type };
}

/** A message's words and pictures. A kept picture (`url` null) has an address here once the message has an id. */
export function contentWith(words: string, pictures: readonly { url: string | null }[], id: string | undefined): string | ContentBlock[] {
  if (pictures.length === 0) return words;
  const shown = pictures.flatMap(({ url: given }, place) => {
    const url = given ?? (id === undefined ? null : `/api/v1/messages/${id}/attachments/${place}`);
    return url === null ? [] : [{ type: "image_url", image_url: { url } }];
  });
  return [...(words === "" ? [] : [{ type: "text", text: words }]), ...shown];
}

export function storedMessageDict({ id, role, content, completed, attachments }: StoredMessage): MessageDict {
  if (role === "user") return toMessageDict(new HumanMessage({ id, content: contentWith(content, attachments, id) }));
  return toMessageDict(new AIMessage({ id, content, response_metadata: { completed } }));
}

/** The fields that clients see in an update or a state of the graph, without messages. */
export function shownFields(written: Partial<ConversationState> | ConversationUpdate): Omit<ThreadValues, "messages"> {
  const {
    conversationSummary: summary,
    coreMemory,
    routeDecision,
    episodicMemory,
    retrievalResults,
    receipt,
    usage,
  } = written as Partial<ConversationState>;
  return {
    ...(summary === undefined
      ? {}
      : { summary: summary && { text: summary.text, version: summary.version, covered_message_count: summary.coveredMessageCount } }),
    ...(coreMemory === undefined ? {} : { core_memory: coreMemory }),
    ...(routeDecision === undefined ? {} : { route_decision: routeDecision }),
    ...(episodicMemory === undefined
      ? {}
      : {
          episodic_memory: episodicMemory.map(({ id, score, similarity, conversationId: conversation_id, messageIds: message_ids }) => {
            return { id, score, similarity, conversation_id, message_ids };
          }),
        }),
    ...(retrievalResults === undefined
      ? {}
      : {
          retrieval_results: retrievalResults.map(({ id, documentId: document_id, title, heading, score }) => {
            return { id, document_id, title, heading, score };
          }),
        }),
    ...(receipt === undefined ? {} : { receipt }),
    ...(usage === undefined ? {} : { usage }),
  };
}

/** The newest of a turn's own and earlier messages. */
export const withMessages = (earlier: readonly MessageDict[], own: readonly MessageDict[]): MessageDict[] =>
  [...earlier, ...own].slice(-MOST_MESSAGES);

interface StoredValues {
  messages: MessageDict[];
  /** Null: it is no longer kept. */
  outcome: TurnOutcome | null;
  /** The newest state's memory. An older state names the versions that its turn used. */
  now: { summary: StoredSummary | null; sections: readonly { section: string; content: string; version: number }[] } | null;
}

/** The stored state after a turn. */
export function storedValues({ messages, outcome, now }: StoredValues): ThreadValues {
  const receipt = outcome?.receipt ?? null;
  const given = receipt?.core_memory.map((one) => ({ ...one, content: null })) ?? [];
  const summary = now
    ? now.summary && {
        text: now.summary.text,
        version: now.summary.version,
        covered_message_count: now.summary.coveredMessageCount,
      }
    : receipt?.summary && { text: null, ...receipt.summary };
  return {
    messages,
    summary: summary ?? null,
    core_memory: now ? now.sections.map(({ section, content, version }) => ({ section, content, version })) : given,
    route_decision: outcome?.route_decision ?? null,
    episodic_memory: receipt?.episodes ?? [],
    retrieval_results: receipt?.passages ?? [],
    receipt,
    usage: outcome?.usage ?? null,
  };
}
