import { Router } from "express";
import { z } from "zod";
import type { LangGraphRouteParts } from "./langgraph-parts.ts";
import { makeRouter, operationGroup, route } from "../http/operation.ts";
import { requireJson } from "../http/read-body.ts";
import { readTurnJson } from "../openai/openai-routes.ts";
import { assistantRoutes } from "./assistant-routes.ts";
import { makeAssistants } from "./assistants.ts";
import { checkpointRoutes } from "./checkpoint-routes.ts";
import { makeCheckpoints } from "./checkpoints.ts";
import { makeOpenRun } from "./open-run.ts";
import { refuseOthers } from "./refuse-others.ts";
import { runRoutes } from "./run-routes.ts";
import { threadlessRunRoutes } from "./runs-without-thread.ts";
import { stateRoutes } from "./state-routes.ts";
import { storeRoutes } from "./store-routes.ts";
import { threadRoutes } from "./thread-routes.ts";
import { makeThreadStates } from "./thread-history.ts";
import { makeThreads } from "./threads.ts";

const Ok = z.object({ ok: z.literal(true) });
const Info = z.object({
  version: z.string(),
  context: z.literal("js"),
  flags: z.object({ assistants: z.boolean(), crons: z.boolean(), langsmith: z.boolean() }),
});

export const langGraphOperations = operationGroup({
  tag: "LangGraph's protocol",
  schemas: { LangGraphOk: Ok, LangGraphInfo: Info },
  routes: {
    isLangGraphOk: route("GET /langgraph/ok", "Whether the service answers", { answer: Ok }),
    getLangGraphInfo: route("GET /langgraph/info", "What speaks this protocol", {
      answer: Info,
    }),
  },
});

function userNamed({ body }: { body?: unknown }): unknown {
  const { metadata, config, context } = (body ?? {}) as {
    metadata?: { user_id?: unknown };
    config?: { configurable?: { user_id?: unknown } };
    context?: { user_id?: unknown };
  };
  return metadata?.user_id ?? context?.user_id ?? config?.configurable?.user_id;
}

/** LangGraph's own protocol on our conversations and turns. */
export function langGraphRoutes(parts: LangGraphRouteParts): Router {
  const threads = makeThreads(parts);
  const assistants = makeAssistants(parts);
  const checkpoints = makeCheckpoints(parts);
  const states = makeThreadStates({ ...parts, checkpoints });
  const shared = { threads, assistants, checkpoints, states, openRun: makeOpenRun({ ...parts, threads, assistants, checkpoints }) };
  const info = makeRouter(langGraphOperations, {
    isLangGraphOk: (_request, response) => void response.json({ ok: true }),
    getLangGraphInfo: (_request, response) =>
      void response.json({ version: "1", context: "js", flags: { assistants: true, crons: false, langsmith: false } }),
  });
  return Router()
    .use("/langgraph", requireJson, readTurnJson(parts), parts.limits.rates.ofUser(userNamed), refuseOthers)
    .use(
      info,
      assistantRoutes(parts, shared),
      threadRoutes(parts, shared),
      stateRoutes(shared),
      checkpointRoutes(shared),
      threadlessRunRoutes(parts, shared),
      runRoutes(parts, shared),
      storeRoutes(parts),
    );
}
