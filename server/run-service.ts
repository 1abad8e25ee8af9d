import { AppError, toAppError } from "../errors/app-error.ts";
import { errorFacts } from "./cause-facts.ts";
import { parseConfig } from "./config.ts";
import { curlHint } from "./curl-hint.ts";
import { makeLogger } from "./logger.ts";
import { openService } from "./open-service.ts";
import { readEnvironment } from "./read-environment.ts";
import { whenNpmIsGone } from "./when-npm-is-gone.ts";

/** Milliseconds in which a second signal is the first one on another way: at Ctrl-C the terminal and npm each send one. */
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
      if (performance.now() - stoppingSince > SAME_SIGNAL_MS) process.exit(1); // asked twice: at once
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
  whenNpmIsGone(() => {
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
