import { type Response, Router } from "express";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import type { Erase, EraseReceipt } from "../../memory/erase/erase.ts";
import type { OperationStore } from "../../stores/postgres/memory/operation-store.ts";
import { callerOf, tenantOf, userInPath } from "../auth/caller.ts";
import { pageQuery, parseRequest, parseUuid, toPageRequest, uuidField } from "../http/parse-request.ts";

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
      const owner = { tenantId: tenantOf(response), userId: userInPath(request, response) };
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
      sendEraseReceipt(response, await erase.user({ tenantId: tenantOf(response), userId: userInPath(request, response) }));
    })
    .delete("/users/:id/episodes/:episode", async (request, response) => {
      const episodeId = parseUuid("episode id", request.params["episode"]);
      const receipt = await erase.episode({ tenantId: tenantOf(response), userId: userInPath(request, response) }, episodeId);
      if (!receipt) throw new AppError("not_found", `This user has no episode ${episodeId}.`);
      sendEraseReceipt(response, receipt);
    });
}

const countsOf = ({ messages, summaries, episodes, coreMemorySections, memoryOperations, jobs }: EraseReceipt) => {
  return { messages, summaries, episodes, core_memory_sections: coreMemorySections, memory_operations: memoryOperations, jobs };
};

/**
 * Answers with what was erased, per kind; 202 while a job still takes out what was set aside, or has to clear the index, which could not be reached.
 * Of what was set aside it says where its progress can be read.
 */
export function sendEraseReceipt(response: Response, receipt: EraseReceipt): void {
  const { isPending, left } = receipt;
  if (left) response.location(`/api/v1/erasures/${left.erasureId}`);
  response.status(isPending ? 202 : 200).json({
    erased: countsOf(receipt),
    ...(isPending ? { pending: [...(left && left.messages > 0 ? ["messages"] : []), "episodes"] } : {}),
    ...(left ? { left: { messages: left.messages }, erasure_id: left.erasureId } : {}),
  });
}

/** Answers with how far one erasure is. */
export function sendErasure(response: Response, id: string, receipt: EraseReceipt): void {
  const { isPending, left } = receipt;
  response.json({ id, erased: countsOf(receipt), pending: isPending, left: { messages: left?.messages ?? 0 } });
}
