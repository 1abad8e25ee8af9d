import express, { Router, type Response } from "express";
import type { LayerJobKind } from "../stores/jobs/job.ts";
import type { Imported, ImportProgress, ImportStore } from "../stores/postgres/import-store.ts";
import { toAppError } from "../errors/app-error.ts";
import { assertUtf8 } from "./assert-utf8.ts";
import { tenantOf } from "./caller.ts";
import { EVENT_STREAM_HEADERS } from "./event-stream-headers.ts";
import { parseImportRequest, type InvalidMessage } from "./import-request.ts";
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

interface ImportResult extends Imported {
  invalid: InvalidMessage[];
}

const toJson = ({ conversationId, ...counts }: ImportResult) => ({ conversation_id: conversationId, ...counts });

/** Sends progress as server-sent events while the import runs, and its result or error as the last one. */
async function streamProgress(
  response: Response,
  { total, heartbeatMs }: { total: number; heartbeatMs: number },
  run: (onProgress: (progress: ImportProgress) => void) => Promise<ImportResult>,
): Promise<void> {
  response.writeHead(200, EVENT_STREAM_HEADERS);
  const stopHeartbeat = startHeartbeat(response, heartbeatMs);
  let id = 0;
  const send = (status: string, content: object): void => {
    response.write(`id: ${++id}\ndata: ${JSON.stringify({ status, content })}\n\n`);
  };
  try {
    send("done", toJson(await run(({ done, exchanges }) => send("progress", { done, total, exchanges }))));
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
      const { userId, sessionId, messages, invalid } = parseImportRequest(withUserOf(response, request.body), maxMessageChars);
      const conversation = { tenantId: tenantOf(response), userId, sessionId };
      const run = async (onProgress: (progress: ImportProgress) => void): Promise<ImportResult> => {
        return { ...(await imports.import({ ...conversation, messages, jobKinds, onProgress })), invalid };
      };
      if (request.accepts(["application/json", "text/event-stream"]) === "text/event-stream") {
        return streamProgress(response, { total: messages.length, heartbeatMs }, run);
      }
      response.json(toJson(await run(() => undefined)));
    },
  );
}
