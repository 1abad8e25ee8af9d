import { AppError, toAppError } from "../../errors/app-error.ts";
import { errorFacts, makeLogger } from "../../observe/logger.ts";
import { parseConfig, readEnvironment } from "../settings/config.ts";
import { OFFLINE_REMARK } from "./offline-remark.ts";
import { serve } from "./open-service.ts";
import { reachable } from "./service-url.ts";

const CHECK_EVERY_MS = 250;

/**
 * Under `npx` and `npm start`, npm signals its shell, which may not pass it on: the service would run on unseen, with its data folder
 * locked.
 */
function stopWhenNpmExits(stop: () => void): void {
  if (!["exec", "start"].includes(process.env["npm_command"] ?? "")) return;
  const parent = process.ppid;
  const looking = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(looking);
    stop();
  }, CHECK_EVERY_MS);
  looking.unref();
}

/** At Ctrl-C the terminal and npm each send one. */
const SAME_SIGNAL_MS = 500;

async function start(): Promise<void> {
  const config = parseConfig(readEnvironment());
  const log = makeLogger(config.LOG_LEVEL);
  const service = await serve(config, log);
  const { database, model, layers } = service.uses;
  log.info(
    { url: service.url, database, model, layers },
    `listening on ${service.url} | database: ${database} | model: ${model} | layers: ${layers.join(", ")}`,
  );
  const needsKey = [config.API_KEYS, config.JWT_SECRET, config.JWT_JWKS_URL].some((set) => set !== undefined);
  if (model === "offline") process.stderr.write(`${OFFLINE_REMARK}\n`);
  process.stderr.write(`Try it:\n  ${curlHint(service.url, needsKey)}\n`);

  let stoppingSince: number | undefined;
  const stop = (signal: NodeJS.Signals): void => {
    if (stoppingSince !== undefined) {
      if (performance.now() - stoppingSince > SAME_SIGNAL_MS) process.exit(1);
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

/** Exits with 1 and one clear message when it cannot start. */
export async function runService(): Promise<void> {
  try {
    await start();
  } catch (error) {
    process.stderr.write(`${error instanceof AppError ? error.message : String(error instanceof Error ? error.stack : error)}\n`);
    process.exit(1);
  }
}

export function curlHint(url: string, needsKey: boolean): string {
  const key = needsKey ? " -H 'authorization: Bearer YOUR_KEY'" : "";
  return `curl -N ${reachable(url)}/api/v1/chat/stream -H 'content-type: application/json'${key} -d '{"user_id":"ada","session_id":"first","message":"Hello!"}'`;
}
