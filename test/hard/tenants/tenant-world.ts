import type { TurnResult } from "../../../turn/events.ts";
import { callApi, postJson, type ApiResponse } from "../../support/clients/api-client.ts";
import { bearer, secretToken } from "../../servers/token-issuer.ts";
import { waitUntil } from "../../support/wait-until.ts";

export const TENANTS = ["acme", "acme-corp", "acme_corp", "acme.corp", "ACME", "acm"];

const USERS = [
  ..."ada,ad,adaa,Ada,ADA,ada/,ada/x,ada:x,ada|x,ada\u0001x,-corp/ada,_corp,ada ".split(","),
  ...[" ada", 'ada"', '["acme","ada"]', 'acme","ada', "ada'", "ada' or '1'='1", "ada'; drop table messages; --", "%", "a%", "_d_", "*"],
  ...["ada\\", "\\", "ada?x=1", "ada#x", "a+a", "a a", "%61da", "ada%00", "{{user}}", "null", "default"],
  ...["\u0430d\u0430", "\u00e9", "e\u0301", "ada\u200f", "ada\u200b", "👩\u200d🚀", "艾达"],
  ...["a".repeat(200), "a".repeat(199)],
];

export interface Person {
  tenantId: string;
  userId: string;
  secret: string;
  headers: Record<string, string>;
  turn: TurnResult & { turnId: string };
  questionId: string;
}

export interface TenantDocument {
  secret: string;
  documentId: string;
  passageId: string;
}

export interface TenantWorld {
  people: Person[];
  documents: Map<string, TenantDocument>;
}

export const keyOf = (tenantId: string): string => `key-of-${tenantId}`;
export const apiKeysOf = (tenants: readonly string[]): string => tenants.map((tenant) => `${keyOf(tenant)}:${tenant}`).join(",");

export const tokenOf = (tenant: string, sub: string): Record<string, string> => bearer(secretToken({ sub, tenant }));

export const secretsIn = (text: string): string[] => [...new Set(text.match(/secret\d{3}x/g) ?? [])].toSorted();

async function succeed<Body>(what: string, call: Promise<ApiResponse<Body>>): Promise<ApiResponse<Body>> {
  const answer = await call;
  if (answer.status >= 300) throw new Error(`${what}: ${answer.status} ${answer.text}`);
  return answer;
}

async function settle(url: string, conversationId: string, headers: Record<string, string>): Promise<void> {
  const address = `${url}/api/v1/conversations/${conversationId}/settle?timeout_ms=60000`;
  const isSettled = async () => (await callApi<{ settled: boolean }>(address, { method: "POST", headers })).json.settled;
  await waitUntil(`the jobs of ${conversationId} are done`, isSettled, 180_000);
}

async function addPerson(url: string, tenantId: string, userId: string, secret: string): Promise<Person> {
  const headers = bearer(keyOf(tenantId));
  const api = `${url}/api/v1`;
  // The same session, the same key and the same external ids for everybody.
  const body = { user_id: userId, session_id: "session", message: `I live in ${secret} town.` };
  const answer = await succeed("a turn", postJson<TurnResult>(`${api}/chat`, body, { ...headers, "idempotency-key": "the-same" }));
  const messages = ["user", "assistant"].map((role) => ({ role, content: `${role} ${secret}`, metadata: { external_id: `m-${role}` } }));
  const history = { user_id: userId, session_id: "imported", messages };
  const imported = await succeed(
    "an import",
    postJson<{ conversation_id: string; imported: number }>(`${api}/conversations/import`, history, headers),
  );
  if (imported.json.imported !== 2) throw new Error(`${imported.json.imported} of 2 messages were imported`);
  const address = `${api}/users/${encodeURIComponent(userId)}/core-memory/goals`;
  const section = { method: "PUT", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify({ content: secret }) };
  await succeed("a section", callApi(address, section));
  const turn = { ...answer.json, turnId: answer.headers.get("x-turn-id") ?? "" };
  const listed = await callApi<{ messages: { id: string }[] }>(`${api}/conversations/${turn.conversation_id}/messages`, { headers });
  const questionId = listed.json.messages[0]?.id ?? "";
  await settle(url, turn.conversation_id, headers);
  await settle(url, imported.json.conversation_id, headers);
  return { tenantId, userId, secret, headers, turn, questionId };
}

async function addDocument(url: string, tenantId: string, secret: string): Promise<Omit<TenantDocument, "passageId">> {
  const headers = bearer(keyOf(tenantId));
  const base = { description: `handbook ${secret}` };
  const put = { method: "PUT", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(base) };
  const own = `only-${tenantId.toLowerCase().replaceAll(".", "-dot-")}${tenantId === "ACME" ? "-big" : ""}`;
  for (const kb of ["handbook", own]) await succeed("a base", callApi(`${url}/api/v1/knowledge/${kb}`, put));
  const documents = `${url}/api/v1/knowledge/handbook/documents`;
  const document = { title: `The ${secret} book`, text: `# ${secret}\n\nAbout ${secret}.`, external_id: "document" };
  const { id } = (await succeed("a document", postJson<{ id: string }>(documents, document, headers))).json;
  const isIndexed = async () => (await callApi(documents, { headers })).text.includes('"status":"indexed"');
  await waitUntil("the document is indexed", isIndexed, 180_000);
  return { secret, documentId: id };
}

/** Everybody with everything, through the service at this address, whose keys are those of `apiKeysOf(TENANTS)`. */
export async function buildTenantWorld(url: string, passageOf: (documentId: string) => Promise<string>): Promise<TenantWorld> {
  const pairs = [...USERS.map((userId) => ["acme", userId] as const), ...TENANTS.slice(1).flatMap((tenant) => [[tenant, "ada"] as const])];
  const secretOf = (number: number): string => `secret${100 + number}x`;
  const people: Person[] = [];
  const waiting = [...pairs.entries()];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [number, [tenantId, userId]] = next;
      people[number] = await addPerson(url, tenantId, userId, secretOf(number));
    }
  };
  await Promise.all(Array.from({ length: 6 }, work));
  const documents: TenantWorld["documents"] = new Map();
  for (const [number, tenant] of TENANTS.entries()) {
    const document = await addDocument(url, tenant, secretOf(800 + number));
    documents.set(tenant, { ...document, passageId: await passageOf(document.documentId) });
  }
  return { people, documents };
}
