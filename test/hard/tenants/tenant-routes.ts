import type { Person, TenantDocument } from "./tenant-world.ts";

export interface ReadRoute {
  address: (person: Person, document: TenantDocument) => string;
  holds: "own" | "tenant" | "nothing";
}

const user = ({ userId }: Person): string => `/api/v1/users/${encodeURIComponent(userId)}`;
const response = ({ turn }: Person): string => `/v1/responses/resp_${turn.turnId}`;
const openaiConversation = ({ turn }: Person): string => `/v1/conversations/conv_${turn.conversation_id}`;
const conversation = ({ turn }: Person): string => `/api/v1/conversations/${turn.conversation_id}`;

export const READS: Record<string, ReadRoute> = {
  "GET /api/v1/conversations": { address: ({ userId }) => `/api/v1/conversations?user_id=${encodeURIComponent(userId)}`, holds: "own" },
  "GET /api/v1/conversations/:id": { address: conversation, holds: "own" },
  "GET /api/v1/conversations/:id/messages": { address: (person) => `${conversation(person)}/messages`, holds: "own" },
  "GET /api/v1/conversations/:id/summary": { address: (person) => `${conversation(person)}/summary`, holds: "own" },
  "GET /api/v1/conversations/:id/context": { address: (person) => `${conversation(person)}/context?message=town`, holds: "nothing" },
  "GET /api/v1/conversations/:id/jobs": { address: (person) => `${conversation(person)}/jobs`, holds: "nothing" },
  "GET /api/v1/messages/:id": { address: ({ questionId }) => `/api/v1/messages/${questionId}`, holds: "own" },
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
  "GET /api/v1/turns/:id/steps": { address: ({ turn }) => `/api/v1/turns/${turn.turnId}/steps`, holds: "nothing" },
  "GET /api/v1/conversations/:id/agents": { address: (person) => `${conversation(person)}/agents`, holds: "nothing" },
  "GET /api/v1/skills": { address: () => "/api/v1/skills", holds: "tenant" },
  "GET /api/v1/skills/:name": { address: () => "/api/v1/skills/helper", holds: "tenant" },
  "GET /api/v1/agents": { address: () => "/api/v1/agents", holds: "tenant" },
  "GET /api/v1/agents/:name": { address: () => "/api/v1/agents/helper", holds: "tenant" },
  "GET /api/v1/agents/:name/versions": { address: () => "/api/v1/agents/helper/versions", holds: "tenant" },
  "GET /api/v1/mcp-servers": { address: () => "/api/v1/mcp-servers", holds: "tenant" },
  "GET /api/v1/mcp-servers/:name": { address: () => "/api/v1/mcp-servers/helper", holds: "tenant" },
  "GET /api/v1/knowledge": { address: () => "/api/v1/knowledge", holds: "tenant" },
  "GET /api/v1/knowledge/:kb": { address: () => "/api/v1/knowledge/handbook", holds: "tenant" },
  "GET /api/v1/knowledge/:kb/documents": { address: () => "/api/v1/knowledge/handbook/documents", holds: "tenant" },
  "GET /api/v1/knowledge/:kb/passages/:passage": {
    address: (_person, { passageId }) => `/api/v1/knowledge/handbook/passages/${passageId}`,
    holds: "tenant",
  },
  "GET /api/v1/status": { address: () => "/api/v1/status", holds: "nothing" },
  "GET /api/v1/models": { address: () => "/api/v1/models", holds: "nothing" },
  "GET /v1/responses/:id": { address: response, holds: "nothing" },
  "GET /v1/responses/:id/input_items": { address: (person) => `${response(person)}/input_items`, holds: "own" },
  "GET /v1/conversations/:id": { address: openaiConversation, holds: "nothing" },
  "GET /v1/conversations/:id/items": { address: (person) => `${openaiConversation(person)}/items`, holds: "own" },
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
  "GET /api/v1/jobs",
  "GET /api/v1/users/:id/audit", // not for a user
  "GET /api/v1/erasures/:id", // whose it is: large-erase.test.ts
];

export const WRITES: Record<string, string> = {
  "POST /api/v1/chat": "what-everybody-reads: each has its own turn, with the same session and key as the others",
  "POST /api/v1/chat/stream": "turns-of-others",
  "POST /v1/chat/completions": "turns-of-others",
  "POST /v1/embeddings": "nobody's data: the vectors of what is sent",
  "POST /mcp": "what-everybody-reads: each recalls its own",
  "POST /v1/responses": "turns-of-others",
  "DELETE /v1/responses/:id": "what-everybody-reads: a foreign id",
  "POST /v1/responses/:id/cancel": "what-everybody-reads: a foreign id",
  "POST /v1/conversations": "responses: the user of the request",
  "DELETE /v1/conversations/:id": "what-everybody-reads: a foreign id",
  "POST /v1/conversations/:id/items": "what-everybody-reads: a foreign id",
  "POST /api/v1/conversations/import": "what-everybody-reads: each has its own messages, with the same external ids as the others",
  "POST /api/v1/conversations/:id/settle": "what-everybody-reads: a foreign id",
  "POST /api/v1/conversations/:id/compact": "what-everybody-reads: a foreign id",
  "POST /api/v1/conversations/:id/summary/revert": "what-everybody-reads: a foreign id",
  "PATCH /api/v1/conversations/:id": "what-everybody-reads: a foreign id",
  "PUT /api/v1/messages/:id/rating": "what-everybody-reads: a foreign id",
  "DELETE /api/v1/messages/:id/rating": "what-everybody-reads: a foreign id",
  "DELETE /api/v1/conversations/:id": "what-everybody-reads: a foreign id",
  "POST /api/v1/turns/:id/cancel": "what-everybody-reads: a foreign id",
  "POST /api/v1/turns/:id/answers": "answers-of-others",
  "DELETE /api/v1/users/:id/permissions/:permission_id": "answers-of-others",
  "PUT /api/v1/users/:id/core-memory/:section": "what-everybody-reads: each has its own section",
  "DELETE /api/v1/users/:id/core-memory/:section": "turns-of-others",
  "POST /api/v1/users/:id/core-memory/:section/revert": "turns-of-others",
  "DELETE /api/v1/users/:id": "what-everybody-reads: erasing one",
  "DELETE /api/v1/users/:id/episodes/:episode": "what-everybody-reads: a foreign id",
  "PUT /api/v1/skills/:name": "what-everybody-reads: each tenant has its own skill",
  "DELETE /api/v1/skills/:name": "what-everybody-reads: the skill of another tenant",
  "PUT /api/v1/agents/:name": "what-everybody-reads: each tenant has its own agent",
  "DELETE /api/v1/agents/:name": "what-everybody-reads: the agent of another tenant",
  "PUT /api/v1/mcp-servers/:name": "what-everybody-reads: each tenant has its own server",
  "DELETE /api/v1/mcp-servers/:name": "mcp-servers-over-http: the server of another tenant",
  "PUT /api/v1/knowledge/:kb": "what-everybody-reads: each tenant has its own base",
  "DELETE /api/v1/knowledge/:kb": "what-everybody-reads: the knowledge of another tenant",
  "POST /api/v1/knowledge/:kb/documents": "what-everybody-reads: the knowledge of another tenant",
  "DELETE /api/v1/knowledge/:kb/documents/:document": "what-everybody-reads: the knowledge of another tenant",
  "POST /api/v1/jobs/retry": "what-everybody-reads: a foreign id",
};

export const FOREIGN_IDS: { method: string; address: (person: Person) => string; body?: object }[] = [
  { method: "GET", address: (person) => `${conversation(person)}/messages` },
  { method: "GET", address: (person) => `${conversation(person)}/summary` },
  { method: "GET", address: (person) => `${conversation(person)}/summary?version=1` },
  { method: "GET", address: (person) => `${conversation(person)}/context?message=town` },
  { method: "GET", address: (person) => `${conversation(person)}/jobs` },
  { method: "POST", address: (person) => `${conversation(person)}/settle` },
  { method: "POST", address: (person) => `${conversation(person)}/compact` },
  { method: "POST", address: (person) => `${conversation(person)}/summary/revert`, body: { version: 1 } },
  { method: "GET", address: conversation },
  { method: "PATCH", address: conversation, body: { pinned: true } },
  { method: "DELETE", address: conversation },
  { method: "PUT", address: ({ questionId }) => `/api/v1/messages/${questionId}/rating`, body: { value: 1 } },
  { method: "DELETE", address: ({ questionId }) => `/api/v1/messages/${questionId}/rating` },
  { method: "GET", address: ({ questionId }) => `/api/v1/messages/${questionId}` },
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
  { method: "GET", address: openaiConversation },
  { method: "DELETE", address: openaiConversation },
  { method: "GET", address: (person) => `${openaiConversation(person)}/items` },
  {
    method: "POST",
    address: (person) => `${openaiConversation(person)}/items`,
    body: { items: [{ role: "user", content: "intruder" }] },
  },
];
