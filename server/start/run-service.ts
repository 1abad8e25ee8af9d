import { AppError, toAppError } from "../../errors/app-error.ts";
import { errorFacts, makeLogger } from "../observe/logger.ts";
import { parseConfig, readEnvironment } from "./config.ts";
import { openService } from "./open-service.ts";

/** Milliseconds between two checks of the parent process. */
const CHECK_EVERY_MS = 250;

/**
 * Calls `stop` when this process was started by `npx` or `npm start` and the shell between npm and it has ended. npm sends signals to that
 * shell, which may not pass them on: the service would run on unseen, with its data folder locked.
 */
export function stopWhenNpmExits(stop: () => void): void {
  if (!["exec", "start"].includes(process.env["npm_command"] ?? "")) return;
  const parent = process.ppid;
  const looking = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(looking);
    stop();
  }, CHECK_EVERY_MS);
  looking.unref();
}

/** Milliseconds within which two signals count as one: at Ctrl-C the terminal and npm each send one. */
const SAME_SIGNAL_MS = 500;

async function start(): Promise<void> {
  const config = parseConfig(readEnvironment());
  const log = makeLogger(config.LOG_LEVEL);
  const service = await openService(config, log);
  const { database, model, layers } = service.uses;
  log.info(
    { url: service.url, database, model, layers },
    `listening on ${service.url} | database: ${database} | model: ${model} | layers: ${layers.join(", ")}`,
  );
  const needsKey = [config.API_KEYS, config.JWT_SECRET, config.JWT_JWKS_URL].some((set) => set !== undefined);
  process.stderr.write(`Try it:\n  ${curlHint(service.url, needsKey)}\n`);

  let stoppingSince: number | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    if (stoppingSince !== undefined) {
      if (performance.now() - stoppingSince > SAME_SIGNAL_MS) process.exit(1); // a second request stops at once
      return;
    }
    stoppingSince = performance.now();
    log.info({ signal }, "stopping: running turns may finish");
    service.close().then(
      () => log.info("stopped"),
      (error: unknown) => {
        log.error(errorFacts(toAppError(error)), "failed while stopping");
        process.exitCode = 1;
      },
    );
  };
  process.on("SIGTERM", stop).on("SIGINT", stop);
  stopWhenNpmExits(() => {
    if (stoppingSince === undefined) stop("SIGTERM");
  });
}

/** Starts the service from the environment; ends the process with status 1 and one clear message when it cannot. */
export async function runService(): Promise<void> {
  try {
    await start();
  } catch (error) {
    process.stderr.write(`${error instanceof AppError ? error.message : String(error instanceof Error ? error.stack : error)}\n`);
    process.exit(1);
  }
}

/** The command for a first streamed turn. */
export function curlHint(url: string, needsKey: boolean): string {
  const reachable = url.replace("//0.0.0.0", "//127.0.0.1").replace("//[::]", "//[::1]");
  const key = needsKey ? " -H 'authorization: Bearer YOUR_KEY'" : "";
  return `curl -N ${reachable}/api/v1/chat/stream -H 'content-type: application/json'${key} -d '{"user_id":"ada","session_id":"first","message":"Hello!"}'`;
}
