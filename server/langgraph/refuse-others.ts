import type { RequestHandler } from "express";
import { notOffered } from "./run-request.ts";

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
export const refuseOthers: RequestHandler = (request, _response, next) => {
  const other = OTHERS.find(([method, path]) => method === request.method && path.test(request.path));
  if (other) throw notOffered(other[2], other[3]);
  next();
};
