import { afterAll, beforeAll } from "@jest/globals";
import { createDataFolder } from "../../servers/data-folder.ts";
import { killServiceProcesses, startServiceProcess } from "../../servers/service-process.ts";

/** A service of its own process with nothing configured but a folder, for all tests of a file. */
export function useServiceOnFolder(): { readonly url: string } {
  const running = { url: "" };
  let remove: () => Promise<void>;
  beforeAll(async () => {
    const data = await createDataFolder();
    remove = data.remove;
    ({ url: running.url } = await startServiceProcess({ DATA_DIR: data.folder, MEMORY_READ_TIMEOUT_MS: "10000" }));
  });
  afterAll(() => killServiceProcesses().then(() => remove()));
  return running;
}
