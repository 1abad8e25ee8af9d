import type { Request, Response, Router } from "express";
import { z } from "zod";
import { v7 as uuidv7 } from "uuid";
import { AppError } from "../../../errors/app-error.ts";
import type { StoredConversation } from "../../../stores/postgres/conversations/conversation-store.ts";
import type { StoredMessage } from "../../../stores/postgres/conversations/message-store.ts";
import type { MessageToImport } from "../../../stores/postgres/conversations/plan-import.ts";
import { callerOf, tenantOf } from "../../auth/caller.ts";
import { importedText } from "../../conversations/import-routes.ts";
import type { AppParts } from "../../http/app-parts.ts";
import { jsonBody, makeRouter, operationGroup, route, type Sent } from "../../http/openapi/operation.ts";
import { givenMetadata, parseRequest, wholeNumberField } from "../../http/parse-request.ts";
import { readJson, requireJson } from "../../http/read-body.ts";
import { assertNotTooLong } from "../../turns/chat-request.ts";
import { MAX_BODY_BYTES } from "../openai-routes.ts";
import { claimedUser, findUser, namedUser } from "../user-and-session.ts";
import { findConversation } from "./find-place.ts";
import { conversationItemId, messageItemId, uuidIn } from "./response-ids.ts";
import { answerItem, type ConversationItem, ConversationItems, listOf, questionItem } from "./response-object.ts";

const MAX_ITEMS = 20;
const MAX_PAGE = 100;

const id = { id: z.string().describe("`conv_…`") };

const Part = z.looseObject({
  type: z.enum(["input_text", "output_text", "text"], "must be a text: other parts are not kept of an item"),
  text: z.string("must be a string"),
});
const NewItem = z
  .looseObject(
    {
      type: z.literal("message", "must be message: other items come of turns").default("message"),
      role: z.enum(["user", "assistant"], "must be user or assistant"),
      content: z.union([z.string(), z.array(Part)], "must be a text or an array of parts"),
    },
    "must be a message with role and content",
  )
  .transform(({ role, content }) => ({ role, content: typeof content === "string" ? content : content.map(({ text }) => text).join("\n") }))
  .pipe(z.object({ role: z.enum(["user", "assistant"]), content: importedText }));
const items = z.array(NewItem, "must be an array of items").max(MAX_ITEMS, `has more than ${MAX_ITEMS} items; add them in several calls`);

const ConversationBody = z.looseObject(
  { items: items.nullish(), metadata: givenMetadata.nullish(), user: z.string().nullish(), safety_identifier: z.string().nullish() },
  "must be a JSON object",
);
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
  schemas: { ConversationBody, ConversationObject, ItemsBody, DeletedConversation },
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
    deleteOpenAIConversation: route("DELETE /v1/conversations/:id", "Erases a conversation with all that came of it", {
      params: id,
      answer: DeletedConversation,
      errors: ["not_found"],
    }),
    addItems: route("POST /v1/conversations/:id/items", "Adds messages that were said elsewhere; memory reads them", {
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
  },
});

function toItem({ id: messageId, role, content, completed, metadata }: StoredMessage): ConversationItem {
  if (role === "user") return questionItem(messageItemId(messageId), content);
  const isWhole = completed || metadata["remember"] === false;
  return answerItem(messageItemId(messageId), content, isWhole ? "completed" : "incomplete");
}

const toSeconds = (time: Date): number => Math.floor(time.getTime() / 1_000);

export function openaiConversationRoutes({ config, stores, memory, limits }: AppParts): Router {
  const { conversations, messages, imports } = stores;
  const reading = [requireJson, readJson(MAX_BODY_BYTES), limits.rates.ofUser(claimedUser)];

  function findAsked(request: Request, response: Response): Promise<StoredConversation> {
    const caller = callerOf(response);
    const scope = { tenantId: caller.tenantId, userId: namedUser(request, caller) };
    return findConversation(conversations, scope, String(request.params["id"]));
  }

  async function show(request: Request, response: Response): Promise<Sent<z.output<typeof ConversationObject>>> {
    const { id: conversationId, createdAt } = await findAsked(request, response);
    const listed = await conversations.show(callerOf(response), conversationId);
    return {
      id: conversationItemId(conversationId),
      object: "conversation",
      created_at: toSeconds(createdAt),
      metadata: listed?.metadata ?? {},
    };
  }

  /** The ids of the new messages, in their order. */
  async function add(owner: { tenantId: string; userId: string; sessionId: string }, given: z.output<typeof items>): Promise<string[]> {
    given.forEach(({ content }, index) => assertNotTooLong(`items.${index}.content`, [content], config.MAX_MESSAGE_CHARS));
    const asImport: MessageToImport[] = given.map((item) => ({ ...item, createdAt: null, metadata: {} }));
    return (await imports.import({ ...owner, messages: asImport, jobKinds: memory.jobKinds })).messageIds;
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
        if (body.items?.length) await add({ ...owner, sessionId }, body.items);
        response.json({ id: sessionId, object: "conversation", created_at: toSeconds(createdAt), metadata });
      },
    ],
    async getOpenAIConversation(request, response) {
      response.json(await show(request, response));
    },
    async deleteOpenAIConversation(request, response) {
      const { id: conversationId, userId } = await findAsked(request, response);
      await memory.erase.conversation({ tenantId: tenantOf(response), userId, conversationId });
      response.json({ id: conversationItemId(conversationId), object: "conversation.deleted", deleted: true });
    },
    addItems: [
      ...reading,
      async (request, response) => {
        const body = parseRequest(ItemsBody, request.body);
        const { userId, sessionId } = await findAsked(request, response);
        const owner = { tenantId: tenantOf(response), userId };
        const ids = await add({ ...owner, sessionId }, body.items);
        const found = new Map((await messages.findAll(owner, ids)).map(({ message }) => [message.id, message]));
        response.json(
          listOf(
            ids
              .map((one) => found.get(one))
              .filter((one) => one !== undefined)
              .map(toItem),
          ),
        );
      },
    ],
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
