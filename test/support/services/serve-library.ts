import { readFile } from "node:fs/promises";
import { pino } from "pino";
import type { parseConfig } from "../../../server/settings/config.ts";
import type { serve, ServiceOptions } from "../../../server/service/open-service.ts";

export type LibraryOptions = Pick<ServiceOptions, "heartbeatMs" | "connectionLimits" | "extras" | "mcp">;

/** For a test that stops the clock of the service, looks at its routes or measures its memory. */
export const IN_THIS_PROCESS: LibraryOptions = {};

const DIST = new URL("../../../dist/", import.meta.url);

/** A part of the built library, as its `openService` loads it. */
async function loadPart<Part>(name: string): Promise<Part> {
  const [file] = new RegExp(`chunks/${name}-\\w+\\.js`).exec(await readFile(new URL("index.js", DIST), "utf8")) ?? [];
  if (file === undefined) throw new Error(`dist/index.js loads no chunk "${name}"`);
  return (await import(new URL(file, DIST).pathname)) as Part;
}

/** The service of the built library in this process, quiet: tools of the test run beside the test, and it takes what no setting gives. */
export async function serveLibrary(environment: Record<string, string>, options: LibraryOptions) {
  const config = await loadPart<{ parseConfig: typeof parseConfig }>("config");
  const service = await loadPart<{ serve: typeof serve }>("open-service");
  return service.serve(config.parseConfig(environment), pino({ level: "silent" }), options);
}
