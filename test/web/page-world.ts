import type { Browser } from "playwright-core";
import { openBrowser } from "../servers/browser.ts";
import { startModelServer, type ModelServer } from "../servers/model-server.ts";
import { killServiceProcesses, startServiceProcess } from "../servers/service-process.ts";

/** A service process whose model answers what it is told, and a browser to open its page in. */
export interface PageWorld {
  url: string;
  model: ModelServer;
  browser: Browser;
  close(): Promise<void>;
}

/** With an embedded database, and without the layers of memory unless `environment` switches them on. */
export async function openPageWorld(environment: Record<string, string> = {}): Promise<PageWorld> {
  const model = await startModelServer();
  const { url } = await startServiceProcess({
    DATA_DIR: "memory://",
    OPENAI_BASE_URL: model.url,
    CHAT_MODEL: "test-chat",
    ENABLE_EPISODIC_MEMORY: "false",
    ENABLE_CORE_MEMORY: "false",
    ENABLE_SUMMARY: "false",
    ...environment,
  });
  const browser = await openBrowser();
  return {
    url,
    model,
    browser,
    async close() {
      await browser.close();
      await killServiceProcesses();
      await model.close();
    },
  };
}
