import { API, part, query, user } from "./addresses.ts";
import { call, send } from "./client.ts";
import type * as Api from "./types.ts";

export const startTurn = (body: Api.ChatRequest, idempotencyKey: string, signal: AbortSignal) =>
  send(`${API}/chat/stream`, { method: "POST", body, signal, headers: { "idempotency-key": idempotencyKey, accept: "text/event-stream" } });
export const resumeTurn = (turnId: string, lastEventId: string | null, signal: AbortSignal) =>
  send(`${API}/turns/${turnId}/stream`, { signal, headers: lastEventId === null ? {} : { "last-event-id": lastEventId } });
export const cancelTurn = (turnId: string) => send(`${API}/turns/${turnId}/cancel`, { method: "POST" });
export const readSteps = (turnId: string) => call<Api.StepList>(`${API}/turns/${turnId}/steps${query({ limit: 200 })}`);
export const answerQuestion = (turnId: string, body: Api.Answer) =>
  call<Api.StoredAnswer>(`${API}/turns/${turnId}/answers`, { method: "POST", body });
export const listQuestions = (userId: string) => call<Api.OpenQuestions>(`${API}/questions${query({ user_id: userId, limit: 200 })}`);
export const readTurn = (turnId: string) => call<Api.Turn>(`${API}/turns/${turnId}`);

interface ConversationPage {
  after?: string | null;
  archived?: boolean | "any";
  /** Only pinned ones. */
  pinned?: boolean;
  limit?: number;
  /** Words of the title. */
  words?: string | null;
}
export const listConversations = (
  userId: string,
  { after, archived = false, pinned = false, limit = 50, words = null }: ConversationPage,
) =>
  call<Api.ConversationList>(
    `${API}/conversations${query({ user_id: userId, limit, archived: String(archived), pinned: pinned ? "true" : null, after, query: words })}`,
  );
export const changeConversation = (conversationId: string, changes: Api.ConversationChanges) =>
  call<Api.Conversation>(`${API}/conversations/${conversationId}`, { method: "PATCH", body: changes });
export const findMessages = (userId: string, words: string) =>
  call<Api.FoundMessages>(`${user(userId)}/messages${query({ query: words, limit: 20 })}`);
export const readContext = (conversationId: string) => call<Api.Context>(`${API}/conversations/${conversationId}/context`);
export const listAgents = () => call<Api.AgentList>(`${API}/agents`);
export const readModels = () => call<Api.ModelList>(`${API}/models`);
/** Newest first, each answer with its turn's steps; `after` lists older ones. */
export const listMessages = (conversationId: string, page: { after: string | null; limit: number }) =>
  call<Api.MessageList>(`${API}/conversations/${conversationId}/messages${query({ order: "newest_first", include: "steps", ...page })}`);
export const activateBranch = (conversationId: string, body: Api.BranchBody) =>
  call<Api.BranchList>(`${API}/conversations/${conversationId}/active-branch`, { method: "PUT", body });
export const forkConversation = (conversationId: string, body: Api.ForkBody) =>
  call<Api.Forked>(`${API}/conversations/${conversationId}/fork`, { method: "POST", body });
export const readMessage = (messageId: string) => call<Api.FoundMessage>(`${API}/messages/${messageId}`);
export const eraseConversation = (conversationId: string, keepalive: boolean) =>
  call<Api.EraseAnswer>(`${API}/conversations/${conversationId}`, { method: "DELETE", keepalive });
export const rateMessage = (messageId: string, rating: Api.RatingRequest) =>
  call<Api.RatingAnswer>(`${API}/messages/${messageId}/rating`, { method: "PUT", body: rating });
export const removeRating = (messageId: string) => call<Api.RatingAnswer>(`${API}/messages/${messageId}/rating`, { method: "DELETE" });
export const listKnowledge = () => call<Api.KnowledgeList>(`${API}/knowledge`);
export const readPassage = (prefix: string, passageId: string) =>
  call<Api.Passage>(`${API}/knowledge/${part(prefix)}/passages/${passageId}`);
export const testModel = () => call<Api.TestedModel>(`${API}/models/test`, { method: "POST", body: {} });
export const readStatus = () => call<Api.Status>(`${API}/status`);
