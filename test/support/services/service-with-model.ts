import { startModelServer } from "../../servers/model-server.ts";
import { openTestService } from "./service.ts";
import { useOpened } from "../use-opened.ts";

export type ServiceWithModel = Awaited<ReturnType<typeof openServiceWithModel>>;

export async function openServiceWithModel(environment: Record<string, string> = {}, options: Parameters<typeof openTestService>[1] = {}) {
  const model = await startModelServer();
  const service = await openTestService({ OPENAI_BASE_URL: model.url, CHAT_MODEL: "test-chat", ...environment }, options);
  return { service, model, url: service.url, close: () => service.close().finally(() => model.close()) };
}

export const useServiceWithModel = (...given: Parameters<typeof openServiceWithModel>) => useOpened(() => openServiceWithModel(...given));
