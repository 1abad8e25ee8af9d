import { expect, test } from "@jest/globals";
import { fileURLToPath } from "node:url";
import { freePort } from "../servers/free-port.ts";
import { startFile } from "../support/run-script.ts";
import { openTestService } from "../support/services/service.ts";
import { waitUntil } from "../support/wait-until.ts";

const SCRIPT = fileURLToPath(new URL("../../scripts/studio.ts", import.meta.url));
const STUDIO = "https://smith.langchain.com";
const run = (words: string[], environment: Record<string, string> = {}) => startFile([SCRIPT, ...words], environment);

test("npm run studio prints the address of Studio on the running service, after it has checked that the service lets Studio in", async () => {
  const service = await openTestService({ CORS_ORIGINS: STUDIO });
  const { code, stdout } = await run(["--url", service.url]).ended;
  expect(code).toBe(0);
  expect(stdout).toContain(`${STUDIO}/studio/?baseUrl=${encodeURIComponent(`${service.url}/langgraph`)}`);
  await service.close();
});

test("npm run studio says what to set when the service does not let Studio in", async () => {
  const service = await openTestService();
  const { code, stderr } = await run(["--url", service.url]).ended;
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining(`CORS_ORIGINS=${STUDIO}`) as unknown });
  await service.close();
});

test("npm run studio starts a service that Studio can open when none runs", async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const started = run(["--url", url], { DATA_DIR: "memory://", ENABLE_EPISODIC_MEMORY: "false" });
  const headers = { origin: STUDIO, "access-control-request-method": "GET" };
  const isOpen = async () => {
    const answer = await fetch(`${url}/langgraph/ok`, { method: "OPTIONS", headers }).catch(() => null);
    return answer?.headers.get("access-control-allow-origin") === STUDIO;
  };
  await waitUntil("the service lets Studio in", isOpen);
  started.interrupt();
  expect((await started.ended).stdout).toContain("/studio/?baseUrl=");
});
