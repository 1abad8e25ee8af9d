import { afterEach, beforeEach, expect, test, describe } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { TurnResult } from "../../../turn/events.ts";
import { findResidualData } from "../../../memory/erase/find-residual-data.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { withStatementTimeout } from "../../../stores/postgres/database/database-decorators.ts";
import { callApi, listConversations, messagesOf, postJson, listMessages } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { makeDescribedClient } from "../../support/clients/described-call.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { killServiceProcesses, type ServiceProcess, startServiceProcess } from "../../servers/service-process.ts";
import { bearer, JWT_SECRET } from "../../servers/token-issuer.ts";
import { apiKeysOf, keyOf, tokenOf } from "../../hard/tenants/tenant-world.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { openServiceWithEpisodes } from "../../support/services/service-with-episodes.ts";
import { useOpened } from "../../support/use-opened.ts";

describe("a large erase", () => {
  /** Far more than a statement may take out within the limit below, and enough for a kill in the middle. */
  const MESSAGES = 150_000;
  /** Milliseconds for one statement. Nothing that the service does needs as many, whatever there is to erase. */
  const STATEMENT_LIMIT_MS = 2_500;
  /** Jobs of a killed process come back within 30 s. */
  const ALL_GONE_MS = 180_000;
  const CONVERSATION = `
insert into conversations (id, tenant_id, user_id, session_id, message_count, last_message_at, created_at, updated_at)
values ($1, 'default', $2, 's', $3, now(), now(), now())`;
  const MESSAGES_AND_TURNS = `
with asked as (
  insert into messages (id, conversation_id, role, content, completed, token_count, created_at)
  select gen_random_uuid(), $1, 'user', 'message ' || number, true, 2, timestamptz '2024-01-31 12:00:00Z' + number * interval '1 second'
  from generate_series(1, $3::int) number returning id
)
insert into turns (id, tenant_id, user_id, conversation_id, question_id, started_at, ended_at, emptied_at)
select gen_random_uuid(), 'default', $2, $1, id, now(), now(), now() from asked`;
  type Receipt = { erasure_id: string; erased: { messages: number }; pending?: string[]; left?: { messages: number } };
  let place: Awaited<ReturnType<typeof createRealDatabase>>;
  let database: Database;
  beforeEach(async () => {
    place = await createRealDatabase();
    database = withStatementTimeout(await openPostgres(place.url), 120_000);
  });
  afterEach(async () => {
    await killServiceProcesses();
    await database.close();
    await place.drop();
  });
  async function storeMessages(id: string, userId: string): Promise<void> {
    for (const text of [CONVERSATION, MESSAGES_AND_TURNS]) await database.query({ text, values: [id, userId, MESSAGES] });
  }
  const start = (settings: Record<string, string> = {}): Promise<ServiceProcess> =>
    startServiceProcess({ DATABASE_URL: place.url, ...settings });
  test(
    "of a user with 150,000 messages is answered at once, and goes on in another process after a kill -9 until all is gone",
    async () => {
      const [id, userId] = [uuidv7(), "ada"];
      await storeMessages(id, userId);
      await database.query({
        text: `alter database ${new URL(place.url).pathname.slice(1)} set statement_timeout = ${STATEMENT_LIMIT_MS}`,
      });
      const first = await start();
      const erase = ({ url }: ServiceProcess) => callApi<Receipt>(`${url}/api/v1/users/${userId}`, { method: "DELETE" });

      const begun = await erase(first);
      expect({ status: begun.status, pending: begun.json.pending }).toEqual({ status: 202, pending: ["messages", "episodes"] });
      expect(await listConversations(first.url, userId)).toEqual([]);
      expect((await callApi(`${first.url}/api/v1/conversations/${id}/messages`)).status).toBe(404);
      await waitUntil("some of it is taken out", async () => {
        const rows = await database.query({ text: "select from erasures where messages > 0" });
        return rows.length === 1;
      });
      first.kill("SIGKILL");
      await first.exited;

      const second = await start();
      // A DELETE that comes after the end begins a new erase, so the first one is followed by its id.
      const look = async () => (await callApi<Required<Receipt>>(`${second.url}/api/v1/erasures/${begun.json.erasure_id}`)).json;
      const progress = await look();
      expect(progress.erased.messages + progress.left.messages).toBe(MESSAGES);
      const isDone = async () => {
        const now = await look();
        return !now.pending && now;
      };
      const done = await waitUntil("all of it is taken out", isDone, ALL_GONE_MS);
      expect(done).toMatchObject({ erased: { messages: MESSAGES } });
      expect(await findResidualData(database, null, { tenantId: "default", userId })).toEqual([]);

      await postJson<TurnResult>(`${second.url}/api/v1/chat`, { user_id: userId, session_id: "s", message: "hello again" });
      expect(await messagesOf(second.url, userId, "s")).toHaveLength(2);
    },
    ALL_GONE_MS * 2,
  );
  test(
    "is followed by its id to its end and after it, only by its own tenant and user, and leaves what the user says meanwhile",
    async () => {
      const [conversationId, userId, key] = [uuidv7(), "ada", bearer(keyOf("default"))];
      await storeMessages(conversationId, userId);
      const { url } = await start({ API_KEYS: apiKeysOf(["default", "acme"]), JWT_SECRET, JWT_TENANT_CLAIM: "tenant" });
      const client = makeDescribedClient(url);

      const begun = await client.call("eraseConversation", { params: { id: conversationId }, headers: key });
      const { erasure_id: id = "none" } = begun.values[0] as { erasure_id?: string };
      expect({ status: begun.status, location: begun.headers.get("location") }).toEqual({
        status: 202,
        location: `/api/v1/erasures/${id}`,
      });
      const look = async (headers: Record<string, string>) =>
        (await client.call("getErasure", { params: { id }, headers })).values[0] as unknown as Required<Receipt>;
      for (const headers of [key, tokenOf("default", userId)]) {
        const progress = await look(headers);
        expect(progress).toMatchObject({ id, pending: true });
        expect(progress.erased.messages + progress.left.messages).toBe(MESSAGES);
      }
      for (const headers of [bearer(keyOf("acme")), tokenOf("acme", userId), tokenOf("default", "Ada")]) {
        const refused = await callApi(`${url}/api/v1/erasures/${id}`, { headers });
        expectRefusal(refused, { status: 404, code: "not_found", says: new RegExp(`no erasure ${id}`) });
      }
      const malformed = await callApi(`${url}/api/v1/erasures/1`, { headers: key });
      expectRefusal(malformed, { status: 400, code: "invalid_request", field: "erasure id" });

      await postJson<TurnResult>(`${url}/api/v1/chat`, { user_id: userId, session_id: "s", message: "hello again" }, key);
      const isDone = async () => {
        const progress = await look(key);
        return !progress.pending && progress;
      };
      const done = await waitUntil("all of it is taken out", isDone, ALL_GONE_MS);
      expect(done).toMatchObject({ id, erased: { messages: MESSAGES }, pending: false, left: { messages: 0 } });
      const [conversation] = await listConversations(url, userId, key);
      expect(conversation).toMatchObject({ session_id: "s", message_count: 2 });
      expect((await client.call("eraseConversation", { params: { id: conversationId }, headers: key })).status).toBe(200);
      expect(await look(key)).toEqual(done);
    },
    ALL_GONE_MS * 2,
  );
});

const run = promisify(execFile);
/** Jobs end, one second without a request passes, and the tables are written anew, on a machine that may be busy. */
const IDLE_MS = 90_000;
/** Files under a folder with this text in them, in capitals or not. */
async function filesHolding(folder: string, text: string): Promise<string[]> {
  const { stdout } = await run("grep", ["-rlais", "--", text, folder]).catch((error: { code: number; stdout: string }) => {
    if (error.code === 1) return { stdout: "" }; // found nothing
    if (error.code === 2) return { stdout: "a file went while it was looked at" };
    throw error;
  });
  return stdout.split("\n").filter(Boolean);
}
describe("an embedded service after an erase", () => {
  // No model is asked: the offline one answers.
  const running = useOpened(() => openServiceWithEpisodes({ OPENAI_BASE_URL: "", ENABLE_CORE_MEMORY: "true" }), 120_000);
  const say = async (userId: string, message: string): Promise<string> => {
    const { conversation_id: id } = await running.say(userId, message);
    expect(await running.settle(id)).toEqual({ settled: true, pending: 0 });
    return id;
  };
  const erase = async (what: string): Promise<void> => {
    expect((await callApi(`${running.url}/api/v1/${what}`, { method: "DELETE" })).status).toBe(200);
  };
  const untilGone = (text: string): Promise<unknown> =>
    waitUntil(`${text} is in no file`, async () => (await filesHolding(running.folder, text)).length === 0, IDLE_MS);

  test("keeps nothing of the erased user in any file, and still finds what other users said", async () => {
    await say("kept", "I live in Zwiebelkeptstadt and my cat is called Minka.");
    for (const town of ["Zwiebelgonestadt", "Zwiebelgonedorf", "Zwiebelgoneheim"]) await say("gone zwiebeluser", `I live in ${town}.`);
    expect(await filesHolding(running.folder, "Zwiebelgone")).not.toEqual([]);
    await erase("users/gone%20zwiebeluser");
    await untilGone("Zwiebelgone");
    await untilGone("zwiebeluser");
    expect(await filesHolding(running.folder, "Zwiebelkeptstadt")).not.toEqual([]);
    const { json } = await running.episodes("kept", { query: "Minka" });
    expect({ found: json.episodes.length, degraded: json.degraded }).toEqual({ found: 1, degraded: [] });
  });

  test("keeps nothing of the erased exchange in any file, and keeps the other exchanges of its conversation", async () => {
    await say("ada", "I live in Zwiebelkeptstadt.");
    const id = await say("ada", "My sister Zwiebelgonela plays the Zwiebelgoneflute.");
    const asked = (await listMessages(running.url, id)).find(({ content }) => content.includes("Zwiebelgonela"));
    await erase(`users/ada/episodes/${asked?.id ?? ""}`);
    await untilGone("Zwiebelgone");
    expect(await filesHolding(running.folder, "Zwiebelkeptstadt")).not.toEqual([]);
  });
});
