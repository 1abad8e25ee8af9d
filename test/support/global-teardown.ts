import { rm } from "node:fs/promises";

export default async function globalTeardown(): Promise<void> {
  await globalThis.testServers?.postgres?.stop();
  if (globalThis.testServers) await rm(globalThis.testServers.folder, { recursive: true, force: true });
}
