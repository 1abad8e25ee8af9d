import { afterEach, describe, expect, test } from "@jest/globals";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { createDataFolder } from "../servers/data-folder.ts";
import { BIN } from "../support/run-script.ts";
import { callApi, putJson } from "../support/clients/api-client.ts";
import { bearer } from "../servers/token-issuer.ts";
import { useTestService } from "../support/services/service.ts";

const open: Client[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()));
});

/** An editor that starts `conversation-graph mcp`; whatever else it writes to standard output is an error. */
async function startMcp(words: string[], environment: Record<string, string> = {}) {
  const env = { PATH: process.env["PATH"] ?? "", ...environment };
  const transport = new StdioClientTransport({ command: process.execPath, args: [BIN, "mcp", ...words], env, stderr: "pipe", cwd: "/" });
  const client = new Client({ name: "an editor", version: "1" });
  const errors: Error[] = [];
  client.onerror = (error) => void errors.push(error);
  await client.connect(transport, { timeout: 60_000 });
  open.push(client);
  return {
    client,
    errors,
    async call(name: string, given: Record<string, unknown> = {}): Promise<string> {
      const { content } = await client.callTool({ name, arguments: given });
      return (content as { text: string }[])[0]?.text ?? "";
    },
  };
}

const goals = { section: "goals", content: "Learns Finnish." };

describe("npx conversation-graph mcp", () => {
  const service = useTestService({ API_KEYS: "a-long-enough-key:acme", ENABLE_CORE_MEMORY: "true" });

  test("opens the embedded data by itself and lets a second process share it, which goes on when the first has ended", async () => {
    const { folder, remove } = await createDataFolder();
    try {
      const first = await startMcp(["--user", "艾达"], { DATA_DIR: folder });
      expect(await first.call("core_memory_update", goals)).toBe('The section "goals" is written, as version 1.');
      const second = await startMcp(["--user", "艾达"], { DATA_DIR: folder });
      expect(await second.call("core_memory_get")).toContain("Learns Finnish.");
      const stranger = await startMcp(["--user", "eve"], { DATA_DIR: folder });
      expect(await stranger.call("core_memory_get")).toBe("Nothing is known about this user yet.");
      await first.client.close();
      expect(await second.call("core_memory_get")).toContain("Learns Finnish.");
      expect([...first.errors, ...second.errors, ...stranger.errors]).toEqual([]);
    } finally {
      await Promise.all(open.splice(0).map((client) => client.close()));
      await remove();
    }
  });

  test("asks the service at --url with --key, and shows what the service refuses", async () => {
    await putJson(`${service.url}/api/v1/users/ada/core-memory/goals`, { content: "To fly." }, bearer("a-long-enough-key"));
    const ada = await startMcp(["--url", `${service.url}/`, "--key", "a-long-enough-key", "--user", "ada"]);
    expect(await ada.call("core_memory_get")).toContain("To fly.");
    expect((await ada.client.listTools()).tools).toHaveLength(6);
    await expect(startMcp(["--url", service.url, "--key", "wrong", "--user", "ada"])).rejects.toThrow(/unauthorized/);
    await expect(startMcp(["--url", service.url, "--key", "a-long-enough-key"])).rejects.toThrow(/user: is missing/);
    await expect(startMcp(["--url", "http://127.0.0.1:9"])).rejects.toThrow(/127\.0\.0\.1:9 does not answer/);
    expect((await callApi(`${service.url}/healthz`)).status).toBe(200);
  });
});
