import type { Database } from "../../../stores/postgres/database/database.ts";
import { storePictures } from "../../../stores/postgres/conversations/picture-store.ts";
import { indexOfPart } from "../../../stores/search/milvus/parted-index.ts";
import type { TurnResult } from "../../../turn/events.ts";
import { callApi, listMessages, postJson, putJson, type ApiResponse } from "../../support/clients/api-client.ts";
import { openPostgresAndMilvus } from "../../support/databases/postgres-and-milvus.ts";
import { conversationApi } from "../../support/services/service-with-episodes.ts";
import { IN_THIS_PROCESS } from "../../support/services/serve-library.ts";
import { openTestService } from "../../support/services/service.ts";
import { pictureWithNote } from "../../support/samples/sample-pictures.ts";
import { bearer, JWT_SECRET, secretToken } from "../../servers/token-issuer.ts";
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
  userMessageId: string;
}

export type TenantDocument = { secret: string; documentId: string; passageId: string };

type TenantWorld = { people: Person[]; documents: Map<string, TenantDocument> };

export const keyOf = (tenantId: string): string => `key-of-${tenantId}`;
export const apiKeysOf = (tenants: readonly string[]): string => tenants.map((tenant) => `${keyOf(tenant)}:${tenant}`).join(",");

export const tokenOf = (tenant: string, sub: string): Record<string, string> => bearer(secretToken({ sub, tenant }));

export const secretsIn = (text: string): string[] => [...new Set(text.match(/secret\d{3}x/g) ?? [])].toSorted();

async function succeed<Body>(what: string, call: Promise<ApiResponse<Body>>): Promise<ApiResponse<Body>> {
  const answer = await call;
  if (answer.status >= 300) throw new Error(`${what}: ${answer.status} ${answer.text}`);
  return answer;
}

async function addPerson(url: string, tenantId: string, userId: string, secret: string): Promise<Person> {
  const headers = bearer(keyOf(tenantId));
  const api = `${url}/api/v1`;
  const { bring, settle } = conversationApi(url);
  // The same session, the same key and the same external ids for everybody.
  const body = { user_id: userId, session_id: "session", message: `I live in ${secret} town.` };
  const answer = await succeed("a turn", postJson<TurnResult>(`${api}/chat`, body, { ...headers, "idempotency-key": "the-same" }));
  const messages = ["user", "assistant"].map((role) => ({ role, content: `${role} ${secret}`, metadata: { external_id: `m-${role}` } }));
  const imported = await bring(userId, messages, "imported", headers);
  if (imported.imported !== 2) throw new Error(`${imported.imported} of 2 messages were imported`);
  await succeed("a section", putJson(`${api}/users/${encodeURIComponent(userId)}/core-memory/goals`, { content: secret }, headers));
  const turn = { ...answer.json, turnId: answer.headers.get("x-turn-id") ?? "" };
  const [question] = await listMessages(url, turn.conversation_id, headers);
  for (const { conversation_id } of [turn, imported]) {
    const isSettled = async () => (await settle(conversation_id, headers)).settled;
    await waitUntil(`the jobs of ${conversation_id} are done`, isSettled, 180_000);
  }
  return { tenantId, userId, secret, headers, turn, userMessageId: question?.id ?? "" };
}

async function addDocument(url: string, tenantId: string, secret: string): Promise<Omit<TenantDocument, "passageId">> {
  const headers = bearer(keyOf(tenantId));
  const own = `only-${tenantId.toLowerCase().replaceAll(".", "-dot-")}${tenantId === "ACME" ? "-big" : ""}`;
  const base = { description: `handbook ${secret}` };
  for (const kb of ["handbook", own]) await succeed("a base", putJson(`${url}/api/v1/knowledge/${kb}`, base, headers));
  for (const agent of ["helper", own]) {
    const name = agent.replaceAll("_", "-");
    const spec = { description: `helps with ${secret}`, tools: ["calculate"] };
    await succeed("an agent", putJson(`${url}/api/v1/agents/${name}`, spec, headers));
    const files = { "SKILL.md": `---\nname: ${name}\ndescription: how to ${secret}\n---\nDo ${secret}.` };
    await succeed("a skill", putJson(`${url}/api/v1/skills/${name}`, { files }, headers));
  }
  const rules = [{ name: secret, when: { tool: "no-tool" }, action: "refuse", message: secret }];
  await succeed("rules", putJson(`${url}/api/v1/rules`, { rules }, headers));
  const server = { url: `https://${secret}.example.org/mcp` };
  await succeed("an MCP server", putJson(`${url}/api/v1/mcp-servers/helper`, server, headers));
  const documents = `${url}/api/v1/knowledge/handbook/documents`;
  const document = { title: `The ${secret} book`, text: `# ${secret}\n\nAbout ${secret}.`, external_id: "document" };
  const { id } = (await succeed("a document", postJson<{ id: string }>(documents, document, headers))).json;
  const isIndexed = async () => (await callApi(documents, { headers })).text.includes('"status":"indexed"');
  await waitUntil("the document is indexed", isIndexed, 180_000);
  return { secret, documentId: id };
}

/** Everybody with everything. */
async function buildTenantWorld(url: string, passageOf: (documentId: string) => Promise<string>): Promise<TenantWorld> {
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
  await Promise.all(Array.from({ length: 12 }, work));
  const documents: TenantWorld["documents"] = new Map();
  for (const [number, tenant] of TENANTS.entries()) {
    const document = await addDocument(url, tenant, secretOf(800 + number));
    documents.set(tenant, { ...document, passageId: await passageOf(document.documentId) });
  }
  return { people, documents };
}

export const STRANGERS = ["acm-", "Acme", "acme-", "acme_cor", "default"];

/** What Milvus has, each with the words that Postgres has of it; its key is both keys where they differ. */
async function readEntities(database: Database, address: string): Promise<{ ownerKey: string; text: string }[]> {
  const { MilvusClient } = await import("@zilliz/milvus2-sdk-node"); // only once uuid is loaded: the two in one cycle do not load
  const client = new MilvusClient({ address, timeout: 60_000 });
  await client.connectPromise;
  const found: Awaited<ReturnType<typeof readEntities>> = [];
  for (const { name } of (await client.showCollections()).data) {
    const asked = { collection_name: name, filter: 'id != ""', output_fields: ["id", "owner_key"], limit: 16_000 };
    const { data } = await client.query(asked);
    const text = `select id, owner_key, lexical_text from search."${indexOfPart(name)}"`;
    const rows = await database.query<{ id: string; owner_key: string; lexical_text: string }>({ text });
    const rowOf = new Map(rows.map((row) => [row.id, row]));
    for (const { id, owner_key: ofVector } of data) {
      const { owner_key: ofWords, lexical_text } = rowOf.get(String(id)) ?? { owner_key: "none", lexical_text: "none" };
      found.push({ ownerKey: ofWords === ofVector ? ofWords : `${ofWords} ${String(ofVector)}`, text: lexical_text });
    }
  }
  await client.closeConnection();
  return found;
}

export async function openTenantStage() {
  const servers = await openPostgresAndMilvus();
  const service = await openTestService(
    {
      ...servers.environment,
      API_KEYS: apiKeysOf([...TENANTS, ...STRANGERS]),
      JWT_SECRET,
      JWT_TENANT_CLAIM: "tenant",
      SECRETS_KEY: "a key of more than thirty-two characters",
      ENABLE_EPISODIC_MEMORY: "true",
      ENABLE_CORE_MEMORY: "true",
      HISTORY_WINDOW: "0",
      SUMMARY_MIN_MESSAGES: "2",
      SUMMARY_UPDATE_DELTA: "1",
      MEMORY_READ_TIMEOUT_MS: "30000",
    },
    IN_THIS_PROCESS,
  );
  const { database, store, milvus } = servers;
  const text = "select id from knowledge_chunks where document_id = $1 order by position limit 1";
  const passageOf = async (documentId: string): Promise<string> =>
    (await database.query<{ id: string }>({ text, values: [documentId] }))[0]?.id ?? "none";
  const world = await buildTenantWorld(service.url, passageOf);
  for (const { tenantId, userId, secret, turn, userMessageId: messageId } of world.people) {
    const shown = { messageId, conversationId: turn.conversation_id };
    await database.transaction((transaction) => storePictures(transaction, { tenantId, userId }, shown, [pictureWithNote(secret)]));
  }
  const close = () => service.close().then(() => servers.close());
  return { url: service.url, database, store, ...world, entities: () => readEntities(database, milvus.address), close };
}
