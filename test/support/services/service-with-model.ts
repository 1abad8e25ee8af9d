import { startModelServer, type ModelServer } from "../../servers/model-server.ts";
import { openTestService, type TestService } from "./service.ts";

/** A service and the model server it asks. */
export interface ServiceWithModel {
  service: TestService;
  model: ModelServer;
  url: string;
  close(): Promise<void>;
}

export async function openServiceWithModel(
  environment: Record<string, string> = {},
  options: Parameters<typeof openTestService>[1] = {},
): Promise<ServiceWithModel> {
  const model = await startModelServer();
  const service = await openTestService({ OPENAI_BASE_URL: model.url, CHAT_MODEL: "test-chat", ...environment }, options);
  return { service, model, url: service.url, close: () => service.close().finally(() => model.close()) };
}
