import type { Request, Response, Router } from "express";
import { z } from "zod";
import { AppError } from "../../../errors/app-error.ts";
import type { ConversationStore, ListedConversation } from "../../../stores/postgres/conversations/conversation-store.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";
import { firstWords } from "../../../text/first-words.ts";
import { callerOf, tenantOf, withCallersUser } from "../../auth/caller.ts";
import { ERASED, sendEraseReceipt } from "../erase-receipt.ts";
import type { Stores } from "../../parts/open-stores.ts";
import type { Memory } from "../../parts/open-memory.ts";
import { callerId, givenMetadata, pageQuery, parseRequest, parseUuid, storableText, toPageRequest } from "../../http/parse-request.ts";
import { jsonBody, makeRouter, operationGroup, route, time, next } from "../../http/operation.ts";

const MAX_TITLE_CHARACTERS = 200;

const choice = (what: string) =>
  z.enum(["true", "false", "any"], "must be true, false or any").describe(`Only those that are ${what}, only the others, or both.`);
const asFilter = { true: true, false: false, any: null } as const;

const ConversationsQuery = z.object({
  user_id: callerId,
  ...pageQuery,
  pinned: choice("pinned").default("any"),
  archived: choice("archived").default("false"),
  query: storableText
    .refine((text) => [...text].length <= MAX_TITLE_CHARACTERS, `must have at most ${MAX_TITLE_CHARACTERS} characters`)
    .optional()
    .describe("Only those whose title has all these words, or parts of words."),
});

const Conversation = z.object({
  id: z.uuid(),
  session_id: z.string(),
  title: z
    .string()
    .nullable()
    .describe("As a person or a model wrote it, else the first words of what the user said. Null while nothing was said."),
  pinned: z.boolean(),
  archived: z.boolean(),
  metadata: z.record(z.string(), z.unknown()).describe("As the caller wrote it."),
  active_agent: z.string().nullable().describe("Answers the next turns, after a handoff. Null: they are routed."),
  forked_from: z
    .object({ conversation_id: z.uuid(), message_id: z.uuid() })
    .nullable()
    .describe("Whose messages it shares, up to which one. Null: it was not forked, or that conversation is erased."),
  message_count: z.int(),
  first_message: z.string().nullable().describe("The beginning of the oldest message."),
  last_message: z.string().nullable().describe("The beginning of the newest message."),
  created_at: time,
  updated_at: time,
});
const ConversationList = z.object({ conversations: z.array(Conversation), next });

const ConversationChanges = z
  .strictObject(
    {
      title: storableText
        .refine(
          (text) => text.trim() !== "" && [...text].length <= MAX_TITLE_CHARACTERS,
          `must have 1 to ${MAX_TITLE_CHARACTERS} characters`,
        )
        .meta({ minLength: 1, maxLength: MAX_TITLE_CHARACTERS })
        .nullable()
        .optional()
        .describe("Null takes a written title away."),
      pinned: z.boolean("must be true or false").optional(),
      archived: z.boolean("must be true or false").optional(),
      metadata: givenMetadata.optional(),
    },
    { error: (issue) => (issue.code === "invalid_type" ? "must be a JSON object with title, pinned, archived or metadata" : undefined) },
  )
  .refine((changes) => Object.keys(changes).length > 0, "changes nothing; send title, pinned, archived or metadata");

export const conversationOperations = operationGroup({
  tag: "conversations",
  schemas: { ConversationList, Conversation, ConversationChanges },
  routes: {
    listConversations: route("GET /api/v1/conversations", "A user's conversations, newest first, without archived ones unless asked for", {
      query: ConversationsQuery,
      answer: ConversationList,
    }),
    getConversation: route("GET /api/v1/conversations/:id", "One conversation, as a list shows it", {
      answer: Conversation,
      errors: ["not_found"],
    }),
    changeConversation: route(
      "PATCH /api/v1/conversations/:id",
      "Changes what is given: its title, whether it is pinned or archived, its metadata as a whole",
      { body: jsonBody(ConversationChanges), answer: Conversation, errors: ["not_found"] },
    ),
    eraseConversation: route("DELETE /api/v1/conversations/:id", "Erases a conversation with all that came of it", {
      answers: ERASED,
      errors: ["not_found"],
    }),
  },
});

function titleOf({ title, firstAsked, firstMessage }: ListedConversation): string | null {
  return title ?? (firstWords(firstAsked ?? firstMessage ?? "") || null);
}

export function toConversation(listed: ListedConversation) {
  const {
    id,
    sessionId,
    pinned,
    archived,
    metadata,
    activeAgent,
    forkedFrom,
    messageCount,
    firstMessage,
    lastMessage,
    createdAt,
    updatedAt,
  } = listed;
  return {
    id,
    session_id: sessionId,
    title: titleOf(listed),
    pinned,
    archived,
    metadata,
    active_agent: activeAgent,
    forked_from: forkedFrom && { conversation_id: forkedFrom.conversationId, message_id: forkedFrom.messageId },
    message_count: messageCount,
    first_message: firstMessage,
    last_message: lastMessage,
    created_at: createdAt,
    updated_at: updatedAt,
  };
}

export function conversationRoutes({ stores, memory }: { stores: Pick<Stores, "conversations">; memory: Memory }): Router {
  const { conversations } = stores;
  return makeRouter(conversationOperations, {
    async listConversations(request, response) {
      const query = parseRequest(ConversationsQuery, withCallersUser(response, request.query));
      const { user_id: userId, pinned, archived, query: words = "", ...page } = query;
      const filter = { pinned: asFilter[pinned], archived: asFilter[archived], words: words.split(/\s+/).filter(Boolean) };
      const { items, next } = await conversations.list({ tenantId: tenantOf(response), userId }, toPageRequest(page), filter);
      response.json({ conversations: items.map(toConversation), next });
    },
    async getConversation(request, response) {
      const id = parseUuid("conversation id", request.params["id"]);
      const found = await conversations.find(callerOf(response), id);
      const conversation = found && (await conversations.show(callerOf(response), found.id));
      if (!conversation) throw conversationNotFound(id);
      response.json(toConversation(conversation));
    },
    async changeConversation(request, response) {
      const changes = parseRequest(ConversationChanges, request.body);
      const conversation = await findConversation(conversations, request, response);
      const changed = await conversations.change(conversation, changes);
      if (!changed) throw conversationNotFound(conversation.conversationId);
      response.json(toConversation(changed));
    },
    async eraseConversation(request, response) {
      const conversationId = parseUuid("conversation id", request.params["id"]);
      const caller = callerOf(response);
      const found = await conversations.find(caller, conversationId);
      const receipt = found
        ? await memory.erase.conversation({ tenantId: caller.tenantId, userId: found.userId, conversationId: found.id })
        : await memory.erase.progress(caller, conversationId);
      if (!receipt) throw conversationNotFound(conversationId);
      sendEraseReceipt(response, receipt);
    },
  });
}

export const conversationNotFound = (conversationId: string): AppError =>
  new AppError("not_found", `There is no conversation ${conversationId}.`);

/** Throws AppError `not_found`, also for another caller's. */
export async function conversationOfCaller(conversations: ConversationStore, id: string, response: Response): Promise<OwnedConversation> {
  const conversation = await conversations.find(callerOf(response), id);
  if (!conversation) throw conversationNotFound(id);
  return { tenantId: tenantOf(response), userId: conversation.userId, conversationId: conversation.id };
}

/** The conversation in a request's path. Throws AppError `invalid_request` or `not_found`. */
export const findConversation = (conversations: ConversationStore, request: Request, response: Response): Promise<OwnedConversation> =>
  conversationOfCaller(conversations, parseUuid("conversation id", request.params["id"]), response);
