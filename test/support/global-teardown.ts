import { rm } from "node:fs/promises";
import { closeSharedBrowser } from "../servers/shared-browser.ts";

export default async function globalTeardown(): Promise<void> {
  await closeSharedBrowser(); // Jest runs a single file in this process
  await globalThis.testServers?.postgres?.stop();
  if (globalThis.testServers) await rm(globalThis.testServers.folder, { recursive: true, force: true });
}
