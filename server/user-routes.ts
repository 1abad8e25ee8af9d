import { Router } from "express";
import { z } from "zod";
import { AppError } from "../errors/app-error.ts";
import type { Erase } from "../memory/erase/make-erase.ts";
import type { OperationStore } from "../stores/postgres/operation-store.ts";
import { callerOf, tenantOf } from "./caller.ts";
import { sendErasure, sendEraseReceipt } from "./erase-receipt.ts";
import { parseRequest } from "./parse-request.ts";
import { pageQuery, parseUuid, toPageRequest, uuidField } from "./request-fields.ts";
import { userOf } from "./user-of.ts";

export const OperationsQuery = z.object({ ...pageQuery, trigger_message_id: uuidField.optional() });

export interface UserRouteParts {
  erase: Erase;
  operations: OperationStore;
}

/** What was done to a user's memory, and erasing it: all of it, or one exchange; how far a large erase has got. */
export function userRoutes({ erase, operations }: UserRouteParts): Router {
  return Router()
    .get("/users/:id/memory-operations", async (request, response) => {
      const { trigger_message_id: trigger, ...page } = parseRequest(OperationsQuery, request.query);
      const owner = { tenantId: tenantOf(response), userId: userOf(request, response) };
      const { items, next } = await operations.list(owner, toPageRequest(page), trigger ?? null);
      response.json({
        operations: items.map((operation) => ({
          id: operation.id,
          operation: operation.operation,
          section: operation.section,
          version: operation.version,
          old_value: operation.oldValue,
          new_value: operation.newValue,
          reason: operation.reason,
          actor: operation.actor,
          refused: operation.refused,
          trigger_message_id: operation.triggerMessageIds.at(-1) ?? null,
          trigger_message_ids: operation.triggerMessageIds,
          conversation_id: operation.conversationId,
          created_at: operation.createdAt,
        })),
        next,
      });
    })
    .get("/erasures/:id", async (request, response) => {
      const id = parseUuid("erasure id", request.params["id"]);
      const receipt = await erase.erasure(callerOf(response), id);
      if (!receipt) throw new AppError("not_found", `There is no erasure ${id}.`);
      sendErasure(response, id, receipt);
    })
    .delete("/users/:id", async (request, response) => {
      sendEraseReceipt(response, await erase.user({ tenantId: tenantOf(response), userId: userOf(request, response) }));
    })
    .delete("/users/:id/episodes/:episode", async (request, response) => {
      const episodeId = parseUuid("episode id", request.params["episode"]);
      const receipt = await erase.episode({ tenantId: tenantOf(response), userId: userOf(request, response) }, episodeId);
      if (!receipt) throw new AppError("not_found", `This user has no episode ${episodeId}.`);
      sendEraseReceipt(response, receipt);
    });
}
