import { Router, type RequestHandler } from "express";
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
import { runRoutes } from "./run-routes.ts";
import { threadlessRunRoutes } from "./runs-without-thread.ts";
import { stateRoutes } from "./state-routes.ts";
import { storeRoutes } from "./store-routes.ts";
import { threadRoutes } from "./thread-routes.ts";
import { makeThreadStates } from "./thread-history.ts";
import { makeThreads } from "./threads.ts";
import { notOffered } from "./run-request.ts";

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

const SCHEDULER = "nothing runs at set times; let a scheduler send the run";

/** Parts of the protocol that this service lacks: method and path, the refusal's field, and the alternative. */
const OTHERS: readonly [method: string, path: RegExp, field: string, instead: string][] = [
  ["POST", /^\/assistants$/, "assistants", "make an agent with PUT /api/v1/agents/{name}: it is an assistant"],
  ["PATCH", /^\/assistants\/[^/]+$/, "assistants", "change the agent with PUT /api/v1/agents/{name}"],
  ["DELETE", /^\/assistants\/[^/]+$/, "assistants", "delete the agent with DELETE /api/v1/agents/{name}"],
  ["POST", /^\/assistants\/[^/]+\/latest$/, "version", "write the version again with PUT /api/v1/agents/{name}"],
  ["POST", /^(\/threads\/[^/]+)?\/runs\/crons(\/.*)?$/, "crons", SCHEDULER],
  ["PATCH", /^\/runs\/crons\//, "crons", SCHEDULER],
  ["DELETE", /^\/runs\/crons\//, "crons", SCHEDULER],
  ["PATCH", /^\/threads\/[^/]+\/state$/, "metadata", "write the metadata of the thread, with PATCH /langgraph/threads/{id}"],
  ["GET", /^\/threads\/[^/]+\/stream$/, "stream", "join the stream of a run: GET /langgraph/threads/{id}/runs/{run_id}/stream"],
  [
    "POST",
    /^\/threads\/[^/]+\/(commands|stream\/events)$/,
    "stream",
    "the newer event protocol is not served; use streamProtocol: legacy, which is the default",
  ],
  ["POST", /^\/ui\/[^/]+$/, "ui", "no components are served; show the values of a thread with those of your page"],
  ["POST", /^\/threads\/prune$/, "threads", "delete them one by one, or set RETENTION_DAYS"],
  ["POST", /^\/runs$/, "runs", "a run in the background needs a thread; without one use /runs/wait or /runs/stream"],
  ["POST", /^\/runs\/batch$/, "runs", "send them one by one"],
  ["POST", /^\/runs\/cancel$/, "runs", "cancel them one by one: POST /langgraph/threads/{id}/runs/{run_id}/cancel"],
];

/** Throws AppError `not_offered` for a request of the protocol that this service does not answer. */
const refuseOthers: RequestHandler = (request, _response, next) => {
  const other = OTHERS.find(([method, path]) => method === request.method && path.test(request.path));
  if (other) throw notOffered(other[2], other[3]);
  next();
};

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
