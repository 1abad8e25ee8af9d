import express, { Router, type Response } from "express";
import type { LayerJobKind } from "../stores/jobs/job.ts";
import type { Imported, ImportStore } from "../stores/postgres/import-store.ts";
import { toAppError } from "../errors/app-error.ts";
import { assertUtf8 } from "./assert-utf8.ts";
import { tenantOf } from "./caller.ts";
import { EVENT_STREAM_HEADERS } from "./event-stream-headers.ts";
import { parseImportRequest } from "./import-request.ts";
import { bodyWithin } from "./limits/body-within.ts";
import { userInBody } from "./limits/count-requests.ts";
import type { RateLimits } from "./limits/rate-limits.ts";
import { requireJson } from "./require-json.ts";
import { startHeartbeat } from "./start-heartbeat.ts";
import { withUserOf } from "./user-of.ts";

/** The largest body: 10,000 messages of an ordinary length many times over. */
const MAX_IMPORT_BYTES = 64 * 1024 * 1024;

export interface ImportRouteParts {
  imports: ImportStore;
  /** Which jobs imported messages get. */
  jobKinds: readonly LayerJobKind[];
  maxMessageChars: number;
  rates: RateLimits;
  /** Milliseconds between comments that keep proxies from closing a quiet stream. */
  heartbeatMs: number;
}

const toJson = ({ conversationId, imported, skipped }: Imported) => ({ conversation_id: conversationId, imported, skipped });

/** Sends progress as server-sent events while the import runs, and its result or error as the last one. */
async function streamProgress(
  response: Response,
  { total, heartbeatMs }: { total: number; heartbeatMs: number },
  run: (onProgress: (done: number) => void) => Promise<Imported>,
): Promise<void> {
  response.writeHead(200, EVENT_STREAM_HEADERS);
  const stopHeartbeat = startHeartbeat(response, heartbeatMs);
  let id = 0;
  const send = (status: string, content: object): void => {
    response.write(`id: ${++id}\ndata: ${JSON.stringify({ status, content })}\n\n`);
  };
  try {
    send("done", toJson(await run((done) => send("progress", { done, total }))));
  } catch (error) {
    send("error", toAppError(error).toContent());
  } finally {
    stopHeartbeat();
  }
  response.end();
}

/** `POST /conversations/import`: history from elsewhere, stored, summarised and indexed like live turns. */
export function importRoutes({ imports, jobKinds, maxMessageChars, rates, heartbeatMs }: ImportRouteParts): Router {
  return Router().post(
    "/conversations/import",
    requireJson,
    bodyWithin(MAX_IMPORT_BYTES, express.json({ limit: MAX_IMPORT_BYTES, verify: assertUtf8 })),
    rates.ofUser(userInBody),
    async (request, response) => {
      const { userId, sessionId, messages } = parseImportRequest(withUserOf(response, request.body), maxMessageChars);
      const conversation = { tenantId: tenantOf(response), userId, sessionId };
      const run = (onProgress: (done: number) => void) => imports.import({ ...conversation, messages, jobKinds, onProgress });
      if (request.accepts(["application/json", "text/event-stream"]) === "text/event-stream") {
        return streamProgress(response, { total: messages.length, heartbeatMs }, run);
      }
      response.json(toJson(await run(() => undefined)));
    },
  );
}
