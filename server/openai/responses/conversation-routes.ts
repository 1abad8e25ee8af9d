import type { Request, Response, Router } from "express";
import { z } from "zod";
import { v7 as uuidv7 } from "uuid";
import { AppError } from "../../../errors/app-error.ts";
import type { StoredConversation } from "../../../stores/postgres/conversations/conversation-store.ts";
import type { StoredMessage } from "../../../stores/postgres/conversations/message-store.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";
import { callerOf, tenantOf } from "../../auth/caller.ts";
import { importedText } from "../../api/conversations/import-routes.ts";
import type { OpenAIParts } from "../openai-parts.ts";
import { jsonBody, makeRouter, operationGroup, route, type Sent } from "../../http/operation.ts";
import { givenMetadata, parseRequest, wholeNumberField } from "../../http/parse-request.ts";
import { readJson, requireJson } from "../../http/read-body.ts";
import { assertNotTooLong } from "../../turns/chat-request.ts";
import { MAX_BODY_BYTES } from "../openai-routes.ts";
import { claimedUser, findUser, namedUser } from "../../turns/named-user.ts";
import { makeAddItems } from "./add-items.ts";
import { findConversation } from "./find-place.ts";
import { conversationItemId, messageItemId, uuidIn } from "./response-ids.ts";
import { answerItem, ConversationItem, ConversationItems, listOf, questionItem } from "./response-object.ts";

const MAX_ITEMS = 20;
const MAX_PAGE = 100;

const id = { id: z.string().describe("`conv_…`") };
const ofItem = { ...id, item: z.string().describe("`msg_…`") };

const Part = z.looseObject({
  type: z.enum(["input_text", "output_text", "text"], "must be a text: other parts are not kept of an item"),
  text: z.string("must be a string"),
});
const Message = z
  .looseObject(
    {
      type: z.literal("message"),
      id: z.string().nullish(),
      role: z.enum(["user", "assistant"], "must be user or assistant"),
      content: z.union([z.string(), z.array(Part)], "must be a text or an array of parts"),
    },
    "must be a message with role and content",
  )
  .transform(({ id: given, role, content }) => ({
    id: uuidIn(given, ["msg"]) ?? undefined,
    role,
    content: typeof content === "string" ? content : content.map(({ text }) => text).join("\n"),
  }))
  .pipe(z.object({ id: z.string().or(z.undefined()), role: z.enum(["user", "assistant"]), content: importedText }));
/** Turns have these as steps. */
const OfTurn = z.looseObject({ type: z.enum(["function_call", "function_call_output", "reasoning"]) }).transform(() => null);
const NewItem = z.preprocess(
  (item) => (typeof item === "object" && item !== null ? { type: "message", ...item } : item),
  z.discriminatedUnion("type", [Message, OfTurn], "must be message, function_call, function_call_output or reasoning"),
);
const items = z.array(NewItem, "must be an array of items").max(MAX_ITEMS, `has more than ${MAX_ITEMS} items; add them in several calls`);

const ConversationBody = z.looseObject(
  { items: items.nullish(), metadata: givenMetadata.nullish(), user: z.string().nullish(), safety_identifier: z.string().nullish() },
  "must be a JSON object",
);
const MetadataBody = z.looseObject({ metadata: givenMetadata }, "must be a JSON object with metadata");
const ItemsBody = z.looseObject({ items: items.min(1, "is empty; send at least one item") }, "must be a JSON object with items");

const ItemsQuery = z.object({
  limit: wholeNumberField(1, MAX_PAGE).default(20),
  after: z.string("must be given once").optional().describe("The id of an item: those behind it follow."),
  order: z.enum(["asc", "desc"], "must be asc or desc").default("desc"),
});

const ConversationObject = z.object({
  id: z.string(),
  object: z.literal("conversation"),
  created_at: z.int(),
  metadata: z.record(z.string(), z.unknown()),
});
const DeletedConversation = z.object({ id: z.string(), object: z.literal("conversation.deleted"), deleted: z.boolean() });

export const openaiConversationOperations = operationGroup({
  tag: "OpenAI's protocol",
  schemas: { ConversationBody, MetadataBody, ConversationObject, ConversationItem, ItemsBody, DeletedConversation },
  routes: {
    createConversation: route("POST /v1/conversations", "A conversation, with what was said before in `items`", {
      headers: ["X-User-Id"],
      body: jsonBody(ConversationBody),
      bodyIsOptional: true,
      answer: ConversationObject,
      errors: ["conversation_busy", "message_too_long"],
    }),
    getOpenAIConversation: route("GET /v1/conversations/:id", "A conversation", {
      params: id,
      answer: ConversationObject,
      errors: ["not_found"],
    }),
    changeOpenAIConversation: route("POST /v1/conversations/:id", "Replaces the metadata of a conversation", {
      params: id,
      body: jsonBody(MetadataBody),
      answer: ConversationObject,
      errors: ["not_found"],
    }),
    deleteOpenAIConversation: route("DELETE /v1/conversations/:id", "Erases a conversation with all that came of it", {
      params: id,
      answer: DeletedConversation,
      errors: ["not_found"],
    }),
    addItems: route("POST /v1/conversations/:id/items", "Adds messages that were said elsewhere; memory reads them", {
      details:
        "Those that a turn of the conversation has stored, and its calls and reasoning, are there already: they are not added again. Calls and reasoning of elsewhere are not kept.",
      params: id,
      body: jsonBody(ItemsBody),
      answer: ConversationItems,
      errors: ["not_found", "conversation_busy", "message_too_long"],
    }),
    listItems: route("GET /v1/conversations/:id/items", "The messages of a conversation, newest first unless `order` says otherwise", {
      params: id,
      query: ItemsQuery,
      answer: ConversationItems,
      errors: ["not_found"],
    }),
    getItem: route("GET /v1/conversations/:id/items/:item", "A message of a conversation", {
      params: ofItem,
      answer: ConversationItem,
      errors: ["not_found"],
    }),
    deleteItem: route("DELETE /v1/conversations/:id/items/:item", "Takes the last message of a conversation back", {
      details: "The conversation goes on before it, on a new branch. Nothing is erased.",
      params: ofItem,
      answer: ConversationObject,
      errors: ["not_found", "invalid_request", "conversation_busy", "conversation_waiting"],
    }),
  },
});

function toItem({ id: messageId, role, content, completed, metadata }: StoredMessage): ConversationItem {
  if (role === "user") return questionItem(messageItemId(messageId), content);
  const isWhole = completed || metadata["remember"] === false;
  return answerItem(messageItemId(messageId), content, isWhole ? "completed" : "incomplete");
}

const toSeconds = (time: Date): number => Math.floor(time.getTime() / 1_000);

export function openaiConversationRoutes(parts: Pick<OpenAIParts, "config" | "stores" | "memory" | "limits" | "readLargeJson">): Router {
  const { config, stores, memory, limits } = parts;
  const { conversations, messages, branches } = stores;
  const addItems = makeAddItems(parts);
  const reading = [requireJson, readJson(MAX_BODY_BYTES), limits.rates.ofUser(claimedUser)];

  function findAsked(request: Request, response: Response): Promise<StoredConversation> {
    const caller = callerOf(response);
    const scope = { tenantId: caller.tenantId, userId: namedUser(request, caller) };
    return findConversation(conversations, scope, String(request.params["id"]));
  }

  async function show(request: Request, response: Response): Promise<Sent<z.output<typeof ConversationObject>>> {
    const { id: conversationId, createdAt, userId } = await findAsked(request, response);
    const listed = await conversations.show({ tenantId: tenantOf(response), userId }, conversationId);
    return {
      id: String(request.params["id"]),
      object: "conversation",
      created_at: toSeconds(createdAt),
      metadata: listed?.metadata ?? {},
    };
  }

  async function add(owned: OwnedConversation & { sessionId: string }, given: z.output<typeof items>): Promise<StoredMessage[]> {
    given.forEach((item, index) => assertNotTooLong(`items.${index}.content`, [item?.content ?? ""], config.MAX_MESSAGE_CHARS));
    const said = given.filter((item) => item !== null);
    return said.length > 0 ? addItems(owned, said) : [];
  }

  /** The message of the address, on the path. Throws AppError `not_found`. */
  async function findItem(request: Request, response: Response) {
    const { id: conversationId, userId, sessionId } = await findAsked(request, response);
    const owned = { tenantId: tenantOf(response), userId, conversationId, sessionId };
    const given = String(request.params["item"]);
    const messageId = uuidIn(given, ["msg"]);
    const found = messageId !== null && (await branches.placeOf(owned, messageId))?.isActive && (await messages.find(owned, messageId));
    if (!found) throw new AppError("not_found", `There is no item "${given.slice(0, 80)}" in this conversation.`);
    return { owned, item: found.message };
  }

  return makeRouter(openaiConversationOperations, {
    createConversation: [
      ...reading,
      async (request, response) => {
        const body = parseRequest(ConversationBody, request.body ?? {});
        const conversationId = uuidv7();
        const sessionId = conversationItemId(conversationId);
        const owner = { tenantId: tenantOf(response), userId: findUser(request, callerOf(response), body) };
        const metadata = body.metadata ?? {};
        await conversations.create(owner, { id: conversationId, sessionId, metadata });
        const { createdAt } = await findConversation(conversations, owner, sessionId);
        if (body.items?.length) await add({ ...owner, conversationId, sessionId }, body.items);
        response.json({ id: sessionId, object: "conversation", created_at: toSeconds(createdAt), metadata });
      },
    ],
    async getOpenAIConversation(request, response) {
      response.json(await show(request, response));
    },
    changeOpenAIConversation: [
      ...reading,
      async (request, response) => {
        const { metadata } = parseRequest(MetadataBody, request.body);
        const { id: conversationId, userId } = await findAsked(request, response);
        await conversations.change({ tenantId: tenantOf(response), userId, conversationId }, { metadata });
        response.json(await show(request, response));
      },
    ],
    async deleteOpenAIConversation(request, response) {
      const { id: conversationId, userId } = await findAsked(request, response);
      await memory.erase.conversation({ tenantId: tenantOf(response), userId, conversationId });
      response.json({ id: String(request.params["id"]), object: "conversation.deleted", deleted: true });
    },
    addItems: [
      ...reading,
      async (request, response) => {
        const body = parseRequest(ItemsBody, request.body);
        const { id: conversationId, userId, sessionId } = await findAsked(request, response);
        const added = await add({ tenantId: tenantOf(response), userId, conversationId, sessionId }, body.items);
        response.json(listOf(added.map(toItem)));
      },
    ],
    async getItem(request, response) {
      response.json(toItem((await findItem(request, response)).item));
    },
    async deleteItem(request, response) {
      const { owned, item } = await findItem(request, response);
      const { items: newest } = await messages.list(owned, { limit: 2, after: null }, "newest_first");
      const [last, before] = newest;
      const place = item.role === "user" ? { editOf: item.id } : before && { behind: before.id };
      if (last?.id !== item.id || !place) {
        const problem = "is not the last message behind another; only that is taken back. DELETE /v1/responses/:id erases an exchange";
        throw AppError.invalid([{ field: "item", problem }]);
      }
      await branches.leave(owned, place);
      response.json(await show(request, response));
    },
    async listItems(request, response) {
      const { limit, after, order } = parseRequest(ItemsQuery, request.query);
      const { id: conversationId, userId } = await findAsked(request, response);
      const conversation = { tenantId: tenantOf(response), userId, conversationId };
      const afterId = after === undefined ? null : uuidIn(after, ["msg"]);
      const before = afterId === null ? null : await messages.find(conversation, afterId);
      if (after !== undefined && before?.conversationId !== conversationId)
        throw AppError.invalid([{ field: "after", problem: `"${after.slice(0, 80)}" is no item of this conversation` }]);
      const cursor = before && { createdAt: before.message.createdAt, id: before.message.id };
      const page = await messages.list(conversation, { limit, after: cursor }, order === "asc" ? "oldest_first" : "newest_first");
      response.json(listOf(page.items.map(toItem), page.next !== null));
    },
  });
}
