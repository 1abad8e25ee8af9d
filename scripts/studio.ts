import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { AppError } from "../errors/app-error.ts";
import { SERVICE_OPTIONS } from "./call-service.ts";
import { runCommand } from "./run-command.ts";

const USAGE = `npm run studio [-- --url URL]    opens LangGraph Studio on the running service, or starts one that it can open
npm run studio -- --port PORT    starts LangGraph's development server, with threads of its own`;

const STUDIO = "https://smith.langchain.com";

const addressFor = (url: string): string => `${STUDIO}/studio/?baseUrl=${encodeURIComponent(`${url}/langgraph`)}`;

/** Whether Studio's page may read the service's answers; null: nothing answers there. */
async function letsStudioIn(url: string): Promise<boolean | null> {
  const headers = { origin: STUDIO, "access-control-request-method": "GET" };
  const answer = await fetch(`${url}/langgraph/ok`, { method: "OPTIONS", headers }).catch(() => null);
  if (!answer) return null;
  return ["*", STUDIO].includes(answer.headers.get("access-control-allow-origin") ?? "");
}

async function runDevelopmentServer(port: string): Promise<void> {
  const command = fileURLToPath(new URL("../node_modules/.bin/langgraphjs", import.meta.url));
  const words = [command, "dev", "--no-browser", "--host", "127.0.0.1", "--port", port];
  const server = spawn(process.execPath, words, { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => server.kill(signal));
  [process.exitCode] = (await once(server, "exit")) as [number | undefined];
}

const OPTIONS = { url: SERVICE_OPTIONS.url, port: { type: "string" } } as const;

await runCommand({ usage: USAGE, options: OPTIONS }, async ({ values: { url, port } }) => {
  if (port !== undefined) return runDevelopmentServer(port);
  const isOpen = await letsStudioIn(url);
  if (isOpen === false) {
    const problem = `The service at ${url} does not let LangGraph Studio in. Start it with CORS_ORIGINS=${STUDIO}, and run this again.`;
    throw new AppError("invalid_configuration", problem);
  }
  console.log(`LangGraph Studio on ${url}:\n  ${addressFor(url)}\nA key of the service goes into Studio's header x-api-key.`);
  if (isOpen) return;
  console.log("No service runs there; this one ends with Ctrl-C.");
  process.env["PORT"] = new URL(url).port || "8000";
  process.env["CORS_ORIGINS"] = [process.env["CORS_ORIGINS"], STUDIO].filter(Boolean).join(",");
  await import("../server/main.ts");
});
