import type { DescribedRequest } from "../../support/clients/described-call.ts";

type Ask = <Value>(id: string, request?: DescribedRequest, status?: number) => Promise<Value>;

/** Calls every operation of LangGraph's protocol by its description. */
export async function askLangGraph(ask: Ask): Promise<void> {
  await ask("isLangGraphOk");
  await ask("getLangGraphInfo");
  const assistant = { params: { assistant_id: "assistant" } };
  await ask("searchAssistants", { body: { limit: 10 } });
  await ask("countAssistants", { body: {} });
  for (const id of ["getAssistant", "drawAssistant", "getAssistantSchemas", "listSubgraphs"]) await ask(id, assistant);
  await ask("listSubgraphsOf", { params: { ...assistant.params, namespace: "generate_agent" } });
  await ask("listAssistantVersions", { ...assistant, body: {} });
  const { thread_id } = await ask<{ thread_id: string }>("createThread", { body: { metadata: { user_id: "ada", of: "a test" } } });
  const thread = { params: { thread_id } };
  const run = { assistant_id: "assistant", input: { messages: [{ type: "human", content: "Which tree do I like?" }] } };
  await ask("waitForRun", { ...thread, body: run });
  await ask("streamRun", {
    ...thread,
    body: { ...run, stream_mode: ["values", "updates", "messages-tuple", "custom", "checkpoints", "debug", "tasks", "events"] },
  });
  const { run_id } = await ask<{ run_id: string }>("createRun", { ...thread, body: { ...run, multitask_strategy: "enqueue" } });
  const last = { params: { thread_id, run_id } };
  await ask("joinRun", last);
  await ask("joinRunStream", last);
  await ask("getRun", last);
  await ask("cancelRun", last, 202);
  await ask("listRuns", thread);
  await ask("getThread", thread);
  await ask("changeThread", { ...thread, body: { metadata: { of: "tests" } } });
  await ask("searchThreads", { body: { metadata: { of: "tests" } } });
  await ask("countThreads", { body: { metadata: { of: "tests" } } });
  await ask("getThreadState", thread);
  await ask("getThreadStateAt", { params: { thread_id, checkpoint_id: run_id } });
  await ask("findThreadState", { ...thread, body: { checkpoint: { checkpoint_id: run_id } } });
  await ask("getThreadHistory", thread);
  await ask("findThreadHistory", { ...thread, body: { limit: 2 } });
  const copy = await ask<{ thread_id: string }>("copyThread", thread);
  await ask("deleteThread", { params: { thread_id: copy.thread_id } }, 204);
  await ask("goBackInThread", { ...thread, body: { values: null, checkpoint: { checkpoint_id: run_id } } });
  const item = { namespace: ["ada", "archive"], key: "tree" };
  await ask("putStoreItem", { body: { ...item, value: { content: "Ada likes the juniper." } } }, 204);
  await ask("getStoreItem", { query: { namespace: "ada.archive", key: "tree" } });
  await ask("searchStore", { body: { namespace_prefix: ["ada"], query: "juniper" } });
  await ask("listNamespaces", { body: { prefix: ["ada"] } });
  await ask("deleteStoreItem", { body: item }, 204);
  await ask("deleteRun", last, 204);
  await ask("deleteThread", thread, 204);
  const alone = { ...run, context: { user_id: "ada" } };
  await ask("waitForRunWithoutThread", { body: alone });
  const first = await ask<{ run_id: string }>("streamRunWithoutThread", { body: alone });
  await ask("joinRunStreamWithoutThread", { params: { run_id: first.run_id } });
  await ask("waitForRunWithoutThread", { body: { ...alone, webhook: "https://example.org" } }, 422);
}

/** Calls the operations that `useChat` calls. */
export async function askAiSdk(ask: Ask): Promise<void> {
  const messages = [{ id: "1", role: "user", parts: [{ type: "text", text: "Which tree do I like?" }] }];
  const body = { id: "ui", user_id: "ada", trigger: "submit-message", messages };
  await ask("streamUiMessages", { body });
  await ask("streamUiMessages", { body: { ...body, trigger: "regenerate-message" } });
  await ask("resumeUiMessages", { params: { chat_id: "ui" }, headers: { "x-user-id": "ada" } }, 204);
}
