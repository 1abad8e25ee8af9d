import { describe, expect, test } from "@jest/globals";
import { startModelServer } from "../../servers/model-server.ts";
import { freePort } from "../../servers/postgres-server.ts";
import { openTestService } from "../../support/services/service.ts";
import { waitUntil } from "../../support/wait-until.ts";

describe("/readyz", () => {
  test("is 503 while the chat model's server is down, and 200 when it has come up", async () => {
    const port = await freePort();
    const service = await openTestService({ OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1/` });
    expect(await service.get("/readyz")).toMatchObject({
      status: 503,
      json: { status: "not ready", dependencies: { postgres: "up", chat_model: "down" } },
    });
    expect((await service.get("/healthz")).status).toBe(200);

    const model = await startModelServer({ port });
    const ready = await waitUntil("readiness", async () => {
      const answer = await service.get("/readyz");
      return answer.status === 200 && answer;
    });
    expect(ready.json).toEqual({ status: "ready", dependencies: { postgres: "up", chat_model: "up" } });
    await service.close();
    await model.close();
  });

  test("does not ask for a model's server when the offline model answers", async () => {
    const service = await openTestService();
    expect(await service.get("/readyz")).toMatchObject({ status: 200, json: { status: "ready", dependencies: { postgres: "up" } } });
    await service.close();
  });
});
