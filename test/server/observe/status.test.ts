import { expect, test } from "@jest/globals";
import { bearer, JWT_SECRET, secretToken } from "../../servers/token-issuer.ts";
import { openServiceWithModel } from "../../support/services/service-with-model.ts";
import { postJson } from "../../support/clients/api-client.ts";

test("the status shows dependencies, layers, the last turns and the jobs, which a user's token does not see", async () => {
  const running = await openServiceWithModel({ API_KEYS: "key-of-default:default", JWT_SECRET });
  const status = async (token = "key-of-default") => (await running.service.get("/api/v1/status", bearer(token))).json;
  expect((await status())["turns"]).toEqual([]);
  await postJson(`${running.url}/api/v1/chat`, { user_id: "fay", session_id: "s", message: "hello" }, bearer("key-of-default"));
  expect(await status()).toMatchObject({
    dependencies: { postgres: "up", chat_model: "up" },
    layers: { summary: "on", core_memory: "off", episodic: "off", knowledge: "off" },
    core_memory_sections: ["profile", "preferences", "goals", "relationships", "constraints"],
    models: { chat: expect.stringContaining(running.model.url), embedder: null },
    search_level: null,
    jobs: expect.any(Array),
  });
  const [time, ms] = [expect.stringMatching(/Z$/), expect.any(Number)];
  expect((await status())["turns"]).toEqual([{ at: time, total_ms: ms, first_token_ms: ms, degraded: [], code: null }]);
  expect((await status(secretToken({ sub: "fay" })))["jobs"]).toBeNull();
  await running.close();
});
