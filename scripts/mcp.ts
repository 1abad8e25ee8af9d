import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { ErrorCode, isJSONRPCRequest, type JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { toAppError } from "../errors/app-error.ts";
import { makeLogger } from "../observe/logger.ts";
import { parseConfig, readEnvironment } from "../server/settings/config.ts";
import { serve } from "../server/service/open-service.ts";
import { isFolderInUse } from "../stores/postgres/database/data-folder-lock.ts";
import { callService, keyOf, type RunningService, serviceBehind } from "./call-service.ts";
import { runCommand } from "./run-command.ts";

const USAGE = `npx conversation-graph mcp [--user ID] [--url URL] [--key KEY] [--tenant TENANT]    offers the memory of one user over MCP
It speaks MCP over stdin and stdout, for an editor or a desktop assistant that starts it. With --url it asks that service, with --key as its
key or token. Else it asks the service that runs on DATA_DIR, or opens DATABASE_URL or DATA_DIR itself.`;

const options = {
  user: { type: "string" },
  url: { type: "string" },
  key: { type: "string" },
  tenant: { type: "string" },
} as const;

interface Asked {
  url: string | undefined;
  key: string | undefined;
  tenant: string | undefined;
}

interface FoundService extends RunningService {
  close(): Promise<void>;
}

const TRIES = 20;
const BETWEEN_TRIES_MS = 500;

/** The named service, the one that has the data, or one of this process. Standard output belongs to MCP, so logs go to the other. */
async function findService({ url, key, tenant }: Asked): Promise<FoundService> {
  const close = async (): Promise<void> => undefined;
  if (url !== undefined) return { url: url.endsWith("/") ? url.slice(0, -1) : url, key, close };
  const config = parseConfig(readEnvironment());
  for (let tries = 1; ; tries++) {
    try {
      const own = await serve({ ...config, HOST: "127.0.0.1", PORT: 0 }, makeLogger("warn", process.stderr));
      return { url: own.url, key: key ?? keyOf(config, own.url, tenant), close: own.close };
    } catch (error) {
      const running = await serviceBehind(error, config, tenant).catch((problem: unknown) => {
        if (tries === TRIES || !isFolderInUse(problem)) throw problem;
        return null; // somebody else has just started it
      });
      if (running) return { ...running, key: key ?? running.key, close };
      await sleep(BETWEEN_TRIES_MS);
    }
  }
}

await runCommand({ usage: USAGE, options }, async ({ values: { user, url, key, tenant } }) => {
  const find = () => findService({ url, key, tenant });
  let finding = find();
  await finding;
  // A token names the user; without a key it is whoever talks to `chat`.
  const userId = user ?? (key === undefined ? (process.env["USER"] ?? "me") : undefined);
  const headers = {
    "content-type": "application/json",
    ...(userId === undefined ? {} : { "x-user-id": Buffer.from(userId).toString("latin1") }), // fetch takes bytes
  };

  async function ask(message: JSONRPCMessage): Promise<string> {
    const init = { method: "POST", headers, body: JSON.stringify(message) };
    const asked = finding;
    try {
      return await (await callService(await asked, "/mcp", init)).text();
    } catch (error) {
      if (toAppError(error).code !== "storage_unavailable") throw error;
      if (finding === asked) finding = find(); // the process that had the data is gone
      return (await callService(await finding, "/mcp", init)).text();
    }
  }

  const client = new StdioServerTransport();
  const running = new Set<Promise<void>>();
  async function answer(message: JSONRPCMessage): Promise<void> {
    try {
      const text = await ask(message);
      if (text !== "") await client.send(JSON.parse(text) as JSONRPCMessage);
    } catch (error) {
      const { message: said } = toAppError(error);
      if (isJSONRPCRequest(message))
        await client.send({ jsonrpc: "2.0", id: message.id, error: { code: ErrorCode.InternalError, message: said } });
      else console.error(said);
    }
  }
  client.onmessage = (message) => {
    const answering = answer(message).finally(() => running.delete(answering));
    running.add(answering);
  };
  client.onerror = (error) => console.error(`What was read is no message of MCP: ${error.name}`);
  await client.start();
  await Promise.race([once(process.stdin, "end"), once(process, "SIGTERM"), once(process, "SIGINT")]);
  await Promise.all(running);
  await client.close();
  await (await finding).close();
});
