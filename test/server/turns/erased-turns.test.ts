import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { createHash } from "node:crypto";
import { v7 as uuidv7 } from "uuid";
import { findResidualData } from "../../../memory/erase/find-residual-data.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { callApi, listConversations } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { contentOf, postTurn } from "../../support/clients/event-client.ts";
import { startModelServer, type ModelServer } from "../../servers/model-server.ts";
import { tablesHolding } from "../../support/databases/scan-tables.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";
import { getTurn, streamTurn } from "../../support/clients/turn-client.ts";
import { waitUntil } from "../../support/wait-until.ts";

describe("erasing while a turn with a key is answered", () => {
  let model: ModelServer;
  let created: Awaited<ReturnType<typeof createRealDatabase>>;
  let database: Database;
  let here: TestService;
  let there: TestService;
  let userId: string;
  beforeAll(async () => {
    [model, created] = await Promise.all([startModelServer(), createRealDatabase()]);
    database = await openPostgres(created.url);
    const environment = { DATABASE_URL: created.url, OPENAI_BASE_URL: model.url, ENABLE_CORE_MEMORY: "true" };
    [here, there] = await Promise.all([openTestService(environment), openTestService(environment)]);
  });
  afterAll(async () => {
    await Promise.all([here.close(), there.close(), database.close()]);
    await model.close();
    await created.drop();
  });
  beforeEach(() => {
    userId = `user ${uuidv7()}`;
    model.seen.splice(0);
  });

  test.each([
    ["user", () => `users/${encodeURIComponent(userId)}`],
    ["conversation", async () => `conversations/${(await listConversations(there.url, userId))[0]?.id}`],
  ])("leaves nothing of it by its %s: neither rows, nor in memory, nor under its key", async (_what, pathOf) => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    model.answer({ tokens: ["I live in Zanzibar too."], until: released });
    const [key, sessionId] = [uuidv7(), uuidv7()];
    const body = { user_id: userId, session_id: sessionId, message: "I live in Zanzibar." };
    const ask = (url: string) => postTurn(url, body, { headers: { "idempotency-key": key } });
    const [told, followed] = [ask(here.url), waitUntil("the model to be asked", () => model.seen.length > 0).then(() => ask(there.url))];
    await waitUntil("the model to be asked", () => model.seen.length > 0);
    const erased = await callApi(`${there.url}/api/v1/${await pathOf()}`, { method: "DELETE" });
    expect(erased.status).toBe(200);
    release();
    const response = await told;
    expect(contentOf(response.events, "error").code).toBe("turn_superseded");
    expect(contentOf((await followed).events, "error").code).toBe("turn_superseded");

    const turnId = response.headers.get("x-turn-id") ?? "";
    const keyHash = createHash("sha256").update(key).digest("base64url");
    expect(await findResidualData(database, null, { tenantId: "default", userId })).toEqual([]);
    for (const trace of [userId, sessionId, turnId, keyHash, "Zanzibar"]) expect(await tablesHolding(database, trace)).toEqual({});
    for (const { url } of [here, there]) {
      expect((await getTurn(url, turnId)).status).toBe(404);
      expect((await streamTurn(url, turnId)).status).toBe(404);
    }

    model.answer({ tokens: ["Who are you?"] });
    const again = await ask(there.url);
    expect(contentOf(again.events, "done").answer).toBe("Who are you?");
    await callApi(`${there.url}/api/v1/users/${encodeURIComponent(userId)}`, { method: "DELETE" });
  });
});
