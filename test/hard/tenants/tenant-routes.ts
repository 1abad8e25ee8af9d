import type { Person, TenantDocument } from "./tenant-world.ts";

export interface ReadRoute {
  address: (person: Person, document: TenantDocument) => string;
  holds: "own" | "tenant" | "nothing";
}

const user = ({ userId }: Person): string => `/api/v1/users/${encodeURIComponent(userId)}`;
const response = ({ turn }: Person): string => `/v1/responses/resp_${turn.turnId}`;
const openaiConversation = ({ turn }: Person): string => `/v1/conversations/conv_${turn.conversation_id}`;
const thread = ({ turn }: Person): string => `/langgraph/threads/${turn.conversation_id}`;
const run = (person: Person): string => `${thread(person)}/runs/${person.turn.turnId}`;
const message = ({ userMessageId }: Person): string => `/api/v1/messages/${userMessageId}`;
const conversation = ({ turn }: Person): string => `/api/v1/conversations/${turn.conversation_id}`;

export const READS: Record<string, ReadRoute> = {
  "GET /api/v1/conversations": { address: ({ userId }) => `/api/v1/conversations?user_id=${encodeURIComponent(userId)}`, holds: "own" },
  "GET /api/v1/conversations/:id": { address: conversation, holds: "own" },
  "GET /api/v1/conversations/:id/messages": { address: (person) => `${conversation(person)}/messages`, holds: "own" },
  "GET /api/v1/conversations/:id/branches": { address: (person) => `${conversation(person)}/branches`, holds: "nothing" },
  "GET /api/v1/conversations/:id/snapshots": { address: (person) => `${conversation(person)}/snapshots`, holds: "nothing" },
  "GET /api/v1/conversations/:id/summary": { address: (person) => `${conversation(person)}/summary`, holds: "own" },
  "GET /api/v1/conversations/:id/context": { address: (person) => `${conversation(person)}/context?message=town`, holds: "nothing" },
  "GET /api/v1/conversations/:id/jobs": { address: (person) => `${conversation(person)}/jobs`, holds: "nothing" },
  "GET /api/v1/messages/:id": { address: message, holds: "own" },
  "GET /api/v1/messages/:id/attachments/:position": { address: (person) => `${message(person)}/attachments/0`, holds: "own" },
  "GET /api/v1/turns/:id": { address: ({ turn }) => `/api/v1/turns/${turn.turnId}`, holds: "nothing" },
  "GET /api/v1/turns/:id/stream": { address: ({ turn }) => `/api/v1/turns/${turn.turnId}/stream`, holds: "nothing" },
  "GET /api/v1/users/:id/episodes": { address: (person) => `${user(person)}/episodes?query=town&limit=100`, holds: "own" },
  "GET /api/v1/users/:id/messages": { address: (person) => `${user(person)}/messages?query=town&limit=200`, holds: "own" },
  "GET /api/v1/users/:id/core-memory": { address: (person) => `${user(person)}/core-memory`, holds: "own" },
  "GET /api/v1/users/:id/core-memory/:section/history": { address: (person) => `${user(person)}/core-memory/goals/history`, holds: "own" },
  "GET /api/v1/users/:id/memory-operations": { address: (person) => `${user(person)}/memory-operations?limit=200`, holds: "own" },
  "GET /api/v1/users/:id/export": { address: (person) => `${user(person)}/export`, holds: "own" },
  "GET /api/v1/questions": { address: ({ userId }) => `/api/v1/questions?user_id=${encodeURIComponent(userId)}`, holds: "nothing" },
  "GET /api/v1/users/:id/permissions": { address: (person) => `${user(person)}/permissions`, holds: "nothing" },
  "GET /api/v1/users/:id/decisions": { address: (person) => `${user(person)}/decisions`, holds: "nothing" },
  "GET /api/v1/turns/:id/steps": { address: ({ turn }) => `/api/v1/turns/${turn.turnId}/steps`, holds: "nothing" },
  "GET /api/v1/conversations/:id/agents": { address: (person) => `${conversation(person)}/agents`, holds: "nothing" },
  "GET /api/v1/conversations/:id/agents/:name/history": {
    address: (person) => `${conversation(person)}/agents/helper/history`,
    holds: "nothing",
  },
  "GET /api/v1/skills": { address: () => "/api/v1/skills", holds: "tenant" },
  "GET /api/v1/skills/:name": { address: () => "/api/v1/skills/helper", holds: "tenant" },
  "GET /api/v1/agents": { address: () => "/api/v1/agents", holds: "tenant" },
  "GET /api/v1/agents/:name": { address: () => "/api/v1/agents/helper", holds: "tenant" },
  "GET /api/v1/agents/:name/versions": { address: () => "/api/v1/agents/helper/versions", holds: "tenant" },
  "GET /api/v1/rules": { address: () => "/api/v1/rules", holds: "tenant" },
  "GET /api/v1/mcp-servers": { address: () => "/api/v1/mcp-servers", holds: "tenant" },
  "GET /api/v1/mcp-servers/:name": { address: () => "/api/v1/mcp-servers/helper", holds: "tenant" },
  "GET /api/v1/knowledge": { address: () => "/api/v1/knowledge", holds: "tenant" },
  "GET /api/v1/knowledge/:kb": { address: () => "/api/v1/knowledge/handbook", holds: "tenant" },
  "GET /api/v1/knowledge/:kb/documents": { address: () => "/api/v1/knowledge/handbook/documents", holds: "tenant" },
  "GET /api/v1/knowledge/:kb/documents/:document/passages": {
    address: (_person, { documentId }) => `/api/v1/knowledge/handbook/documents/${documentId}/passages`,
    holds: "tenant",
  },
  "GET /api/v1/knowledge/:kb/passages": { address: () => "/api/v1/knowledge/handbook/passages?query=book", holds: "tenant" },
  "GET /api/v1/knowledge/:kb/passages/:passage": {
    address: (_person, { passageId }) => `/api/v1/knowledge/handbook/passages/${passageId}`,
    holds: "tenant",
  },
  "GET /api/v1/status": { address: () => "/api/v1/status", holds: "nothing" },
  "GET /api/v1/limits": { address: ({ userId }) => `/api/v1/limits?user_id=${encodeURIComponent(userId)}`, holds: "nothing" },
  "GET /api/v1/models": { address: () => "/api/v1/models", holds: "nothing" },
  "GET /v1/responses/:id": { address: response, holds: "nothing" },
  "GET /v1/responses/:id/input_items": { address: (person) => `${response(person)}/input_items`, holds: "own" },
  "GET /v1/conversations/:id": { address: openaiConversation, holds: "nothing" },
  "GET /v1/conversations/:id/items/:item": {
    address: (person) => `${openaiConversation(person)}/items/msg_${person.userMessageId}`,
    holds: "own",
  },
  "GET /v1/conversations/:id/items": { address: (person) => `${openaiConversation(person)}/items`, holds: "own" },
  "GET /langgraph/threads/:thread_id": { address: thread, holds: "own" },
  "GET /langgraph/threads/:thread_id/state": { address: (person) => `${thread(person)}/state`, holds: "own" },
  "GET /langgraph/threads/:thread_id/state/:checkpoint_id": {
    address: (person) => `${thread(person)}/state/${person.turn.turnId}`,
    holds: "own",
  },
  "GET /langgraph/threads/:thread_id/history": { address: (person) => `${thread(person)}/history`, holds: "own" },
  "GET /langgraph/threads/:thread_id/runs": { address: (person) => `${thread(person)}/runs`, holds: "nothing" },
  "GET /langgraph/threads/:thread_id/runs/:run_id": { address: run, holds: "nothing" },
  "GET /langgraph/threads/:thread_id/runs/:run_id/join": { address: (person) => `${run(person)}/join`, holds: "own" },
  "GET /langgraph/threads/:thread_id/runs/:run_id/stream": { address: (person) => `${run(person)}/stream`, holds: "own" },
  "GET /langgraph/runs/:run_id/stream": { address: ({ turn }) => `/langgraph/runs/${turn.turnId}/stream`, holds: "own" },
  "GET /langgraph/store/items": {
    address: ({ userId }) => `/langgraph/store/items?namespace=${encodeURIComponent(`${userId}.core`)}&key=goals`,
    holds: "own",
  },
  "GET /langgraph/assistants/:assistant_id": { address: () => "/langgraph/assistants/helper", holds: "tenant" },
  "GET /api/v1/usage": { address: () => "/api/v1/usage?by=user", holds: "nothing" },
  "GET /v1/models": { address: () => "/v1/models", holds: "nothing" },
};

/** What is the same for everybody, or counts only. */
export const HOLDS_NOBODYS = [
  "GET /",
  "GET /assets/:file",
  "GET /healthz",
  "GET /readyz",
  "GET /api/v1/health",
  "GET /metrics",
  "GET /openapi.json",
  "GET /mcp/signed-in", // whose it is, its state says: sign-in-at-mcp-servers.test.ts
  "GET /docs",
  "GET /docs/:file",
  "GET /v1/models/*id",
  "GET /langgraph/ok",
  "GET /api/v1/chat/ui-messages/:chat_id/stream", // what runs in the caller's own chat: ui-messages.test.ts
  "GET /langgraph/info",
  "GET /langgraph/assistants/:assistant_id/graph",
  "GET /langgraph/assistants/:assistant_id/schemas",
  "GET /langgraph/assistants/:assistant_id/subgraphs",
  "GET /langgraph/assistants/:assistant_id/subgraphs/:namespace",
  "GET /api/v1/agents/:name/stats", // not for a user: agent-runs.test.ts
  "GET /api/v1/jobs",
  "GET /api/v1/settings", // not for a tenant: settings.test.ts
  "GET /api/v1/users/:id/audit", // not for a user
  "GET /api/v1/erasures/:id", // whose it is: large-erase.test.ts
];

export const FOREIGN_IDS: { method: string; address: (person: Person) => string; body?: object }[] = [
  { method: "GET", address: openaiConversation },
  { method: "POST", address: openaiConversation, body: { metadata: { of: "a stranger" } } },
  { method: "DELETE", address: (person) => `${openaiConversation(person)}/items/msg_00000000-0000-7000-8000-000000000001` },
  { method: "GET", address: (person) => `${conversation(person)}/messages` },
  { method: "GET", address: (person) => `${conversation(person)}/summary` },
  { method: "GET", address: (person) => `${conversation(person)}/summary?version=1` },
  { method: "GET", address: (person) => `${conversation(person)}/context?message=town` },
  { method: "GET", address: (person) => `${conversation(person)}/jobs` },
  { method: "POST", address: (person) => `${conversation(person)}/settle` },
  { method: "POST", address: (person) => `${conversation(person)}/compact` },
  { method: "POST", address: (person) => `${conversation(person)}/summary/revert`, body: { version: 1 } },
  { method: "GET", address: (person) => `${conversation(person)}/branches` },
  { method: "POST", address: (person) => `${conversation(person)}/fork`, body: { session_id: "mine" } },
  { method: "GET", address: (person) => `${conversation(person)}/snapshots` },
  { method: "POST", address: (person) => `${conversation(person)}/snapshots`, body: { label: "here" } },
  { method: "DELETE", address: (person) => `${conversation(person)}/snapshots/00000000-0000-7000-8000-000000000001` },
  { method: "POST", address: (person) => `${conversation(person)}/snapshots/00000000-0000-7000-8000-000000000001/restore` },
  {
    method: "PUT",
    address: (person) => `${conversation(person)}/active-branch`,
    body: { branch_id: "00000000-0000-7000-8000-000000000001" },
  },
  { method: "DELETE", address: (person) => `${conversation(person)}/branches/00000000-0000-7000-8000-000000000001` },
  { method: "GET", address: conversation },
  { method: "PATCH", address: conversation, body: { pinned: true } },
  { method: "DELETE", address: conversation },
  { method: "PUT", address: ({ userMessageId }) => `/api/v1/messages/${userMessageId}/rating`, body: { value: 1 } },
  { method: "DELETE", address: ({ userMessageId }) => `/api/v1/messages/${userMessageId}/rating` },
  { method: "GET", address: message },
  { method: "GET", address: ({ userMessageId }) => `/api/v1/messages/${userMessageId}/attachments/0` },
  { method: "GET", address: ({ turn }) => `/api/v1/turns/${turn.turnId}` },
  { method: "GET", address: ({ turn }) => `/api/v1/turns/${turn.turnId}/steps` },
  { method: "GET", address: (person) => `${conversation(person)}/agents` },
  { method: "GET", address: ({ turn }) => `/api/v1/turns/${turn.turnId}/stream` },
  { method: "POST", address: ({ turn }) => `/api/v1/turns/${turn.turnId}/cancel` },
  { method: "GET", address: response },
  { method: "GET", address: (person) => `${response(person)}?stream=true` },
  { method: "GET", address: (person) => `${response(person)}/input_items` },
  { method: "POST", address: (person) => `${response(person)}/cancel` },
  { method: "DELETE", address: response },
  { method: "GET", address: thread },
  { method: "PATCH", address: thread, body: { metadata: { topic: "intruder" } } },
  { method: "DELETE", address: thread },
  { method: "GET", address: (person) => `${thread(person)}/state` },
  { method: "GET", address: (person) => `${thread(person)}/state/${person.turn.turnId}` },
  ...["state", "copy", "state/checkpoint"].map((way) => ({ method: "POST", address: (one: Person) => `${thread(one)}/${way}`, body: {} })),
  ...["history", "runs"].map((list) => ({ method: "GET", address: (person: Person) => `${thread(person)}/${list}` })),
  { method: "POST", address: (person) => `${thread(person)}/history`, body: {} },
  ...["", "/wait", "/stream"].map((way) => ({
    method: "POST",
    address: (person: Person) => `${thread(person)}/runs${way}`,
    body: { assistant_id: "conversation", input: { messages: [{ type: "human", content: "intruder" }] } },
  })),
  { method: "GET", address: run },
  { method: "DELETE", address: run },
  ...["join", "stream"].map((way) => ({ method: "GET", address: (person: Person) => `${run(person)}/${way}` })),
  { method: "POST", address: (person) => `${run(person)}/cancel` },
  { method: "GET", address: openaiConversation },
  { method: "DELETE", address: openaiConversation },
  { method: "GET", address: (person) => `${openaiConversation(person)}/items` },
  {
    method: "POST",
    address: (person) => `${openaiConversation(person)}/items`,
    body: { items: [{ role: "user", content: "intruder" }] },
  },
];
