import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open, unlink } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { bulkhead } from "cockatiel";
import type { Router } from "express";
import type { Queryable } from "../../../stores/postgres/database/database.ts";
import { exportLines, inReadTransaction } from "../../../stores/postgres/export/export-lines.ts";
import { tenantOf, userInPath } from "../../auth/caller.ts";
import type { Stores } from "../../parts/open-stores.ts";
import { writeWithBackpressure } from "../../http/event-stream.ts";
import { makeRouter, operationGroup, route, file } from "../../http/operation.ts";
import { callerId } from "../../http/parse-request.ts";

export const exportOperations = operationGroup({
  tag: "memory",
  routes: {
    exportUser: route("GET /api/v1/users/:id/export", "Everything that is stored of a user, at one moment, as a file", {
      details:
        "A JSON object on each line: a `header`, then `{kind, row}` for each conversation, message, summary, section of core memory with its versions and" +
        " whatever else is stored, then the `end` with how many there are and the SHA-256 of all lines before. `npm run restore` brings it back.",
      params: { id: callerId },
      answers: { 200: { what: "Lines of JSON.", content: { "application/x-ndjson": file } } },
      errors: ["not_found"],
    }),
  },
});

/** Exports at a time; each holds a connection. */
const AT_A_TIME = 2;

/** The file vanishes when the process ends. */
async function openUnnamedFile(): Promise<FileHandle> {
  const name = path.join(os.tmpdir(), `conversation-graph-user-export-${randomUUID()}`);
  const file = await open(name, "wx+", 0o600);
  await unlink(name);
  return file;
}

/** An export goes to a file first: a slow client holds no connection, and a failure is an error, not half an answer. */
export function exportRoutes({ stores }: { stores: Pick<Stores, "database"> }): Router {
  const inTurn = bulkhead(AT_A_TIME, Number.MAX_SAFE_INTEGER);
  return makeRouter(exportOperations, {
    async exportUser(request, response) {
      const scope = { tenantId: tenantOf(response), userId: userInPath(request, response) };
      await using saved = await openUnnamedFile();
      async function write(transaction: Queryable): Promise<void> {
        for await (const lines of exportLines(transaction, scope)) {
          if (response.destroyed) return; // the client has left
          await saved.appendFile(lines);
        }
      }
      await inTurn.execute(() => (response.destroyed ? undefined : inReadTransaction(stores.database, write)));
      const { size } = await saved.stat();
      response.attachment("export.jsonl").set({ "content-type": "application/x-ndjson; charset=utf-8", "content-length": String(size) });
      const text = createReadStream("", { fd: saved.fd, autoClose: false, start: 0, encoding: "utf8" });
      for await (const piece of text as AsyncIterable<string>) {
        if (response.destroyed) return;
        await writeWithBackpressure(response, piece, { atOnce: false });
      }
      response.end();
    },
  });
}
