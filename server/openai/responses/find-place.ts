import type { Request } from "express";
import { AppError } from "../../../errors/app-error.ts";
import type { OwnerScope } from "../../../turn/owner.ts";
import type { StoredConversation } from "../../../stores/postgres/conversations/conversation-store.ts";
import type { Caller } from "../../auth/caller.ts";
import type { Stores } from "../../parts/open-stores.ts";
import type { Departure } from "../align-history.ts";
import type { CompletionRequest } from "../completion-request.ts";
import { derivedSession, namedSession, type Session } from "../user-and-session.ts";
import { findUser, namedUser } from "../../turns/named-user.ts";
import { conversationItemId, uuidIn } from "./response-ids.ts";
import type { ResponseBody } from "./response-request.ts";

/** The owner and conversation of a response. */
export interface Place {
  userId: string;
  session: Session;
  /** Where it leaves the path. Undefined: as the request's earlier messages tell. */
  departure?: Departure;
}

interface FoundPlace extends Place {
  conversation: string | null;
  isDerived: boolean;
}

type PlaceStores = Pick<Stores, "conversations" | "messages" | "turns">;

export const conversationNotFound = (id: string): AppError =>
  new AppError("not_found", `conversation: there is no conversation "${id.slice(0, 80)}".`, {
    details: [{ field: "conversation", problem: `there is no conversation "${id.slice(0, 80)}"` }],
  });

/** Throws AppError `not_found`, also for one of others. */
export async function findConversation(conversations: Stores["conversations"], scope: OwnerScope, id: string): Promise<StoredConversation> {
  const uuid = uuidIn(id, ["conv"]);
  const found = uuid && (await conversations.findNamed(scope, { id: uuid, sessionId: conversationItemId(uuid) }));
  if (!found) throw conversationNotFound(id);
  return found;
}

function notFound(id: string): AppError {
  const problem = `there is no response "${id.slice(0, 80)}", or it was not stored; leave it out to begin anew`;
  const details = [{ field: "previous_response_id", problem }];
  return new AppError("previous_response_not_found", `previous_response_id: ${problem}`, { details });
}

/**
 * Where the conversation goes on after a response: on a new branch unless that is its last. Throws AppError `previous_response_not_found`.
 */
async function behindResponse({ conversations, messages, turns }: PlaceStores, scope: OwnerScope, id: string): Promise<Place> {
  const turnId = uuidIn(id, ["resp"]);
  const turn = turnId && (await turns.find(scope, turnId));
  const conversation = turn && (await conversations.find(scope, turn.conversationId));
  if (!turn || !conversation) throw notFound(id);
  const { userId, sessionId } = conversation;
  const owned = { tenantId: scope.tenantId, userId, conversationId: conversation.id };
  const { items } = await messages.list(owned, { limit: 1, after: null }, "newest_first");
  const [last] = items;
  const isLast = !last || last.id === turn.answerId || last.id === turn.userMessageId;
  const departure = isLast ? null : { behind: turn.answerId ?? turn.userMessageId };
  return { userId, session: { sessionId, whenBusy: "refuse" }, departure };
}

/** Our ids in the input, the last one first. */
function messageIdsIn({ input }: ResponseBody): string[] {
  if (typeof input === "string") return [];
  return input
    .map(({ id }) => uuidIn(id, ["msg", "rs", "fc"]))
    .filter((id) => id !== null)
    .toReversed();
}

/** Messages that are named and not sent cannot be compared. */
const refersToItems = ({ input }: ResponseBody): boolean =>
  typeof input !== "string" && input.some(({ type }) => type === "item_reference");

async function besideItems({ conversations, messages }: PlaceStores, scope: OwnerScope, body: ResponseBody): Promise<Place | null> {
  const ids = messageIdsIn(body);
  if (ids.length === 0) return null;
  const found = await messages.findAll(scope, ids);
  const conversationId = ids.map((id) => found.find(({ message }) => message.id === id)?.conversationId).find((id) => id !== undefined);
  const conversation = conversationId === undefined ? null : await conversations.find(scope, conversationId);
  return conversation && { userId: conversation.userId, session: { sessionId: conversation.sessionId, whenBusy: "enqueue" } };
}

/**
 * In this order: a header or the metadata, an id of ours, the first message. Throws AppError `invalid_request`, `forbidden`, `not_found` or
 * `previous_response_not_found`.
 */
export async function findPlace(
  stores: PlaceStores,
  request: Request,
  caller: Caller,
  { body, completion }: { body: ResponseBody; completion: CompletionRequest },
): Promise<FoundPlace> {
  const { previous_response_id: previous } = body;
  const given = typeof body.conversation === "object" ? body.conversation?.id : body.conversation;
  if (previous && given) {
    const problem = "goes with no previous_response_id; send one of them";
    throw AppError.invalid([{ field: "conversation", problem }]);
  }
  const scope = { tenantId: caller.tenantId, userId: namedUser(request, caller, body) };
  if (given) {
    const { userId, sessionId } = await findConversation(stores.conversations, scope, given);
    return { userId, session: { sessionId, whenBusy: "enqueue" }, departure: null, conversation: given, isDerived: false };
  }
  const named = namedSession(request, body.metadata);
  const behind = previous ? await behindResponse(stores, scope, previous) : await besideItems(stores, scope, body);
  const userId = behind?.userId ?? findUser(request, caller, body);
  const session = named ?? behind?.session;
  const departure = previous || refersToItems(body) ? { departure: named ? null : (behind?.departure ?? null) } : {};
  return { userId, session: session ?? derivedSession(completion), ...departure, conversation: null, isDerived: !session };
}
