import { bulkhead } from "cockatiel";
import type { Router } from "express";
import { z } from "zod";
import { AppError } from "../../../errors/app-error.ts";
import { callerOf, requireWholeTenant, tenantOf, userInPath } from "../../auth/caller.ts";
import { auditUser } from "./audit-user.ts";
import type { Config } from "../../settings/config.ts";
import type { Stores } from "../../parts/open-stores.ts";
import type { Memory } from "../../parts/open-memory.ts";
import { parseUuid, callerId } from "../../http/parse-request.ts";
import { makeRouter, operationGroup, route } from "../../http/operation.ts";
import { counts, EraseAnswer, ERASED, countsOf, sendEraseReceipt } from "../erase-receipt.ts";

const user = { id: callerId };

const ErasureAnswer = z.object({
  id: z.uuid(),
  erased: counts.describe("So far."),
  pending: z.boolean().describe("A job still has something to take out, of the text or of the index."),
  left: z.object({ messages: z.int() }),
});

const AuditAnswer = z.object({
  places: z.array(z.object({ place: z.string().describe("A table, or a collection of the index."), count: z.int() })),
  not_searched: z.array(z.string()).describe("Indexes in a Milvus that is not configured."),
});

export const eraseOperations = operationGroup({
  tag: "memory",
  schemas: { EraseAnswer, ErasureAnswer, AuditAnswer },
  routes: {
    forgetEpisode: route("DELETE /api/v1/users/:id/episodes/:episode", "Forgets one exchange with all that came of it", {
      params: user,
      answers: ERASED,
      errors: ["not_found", "conversation_busy"],
    }),
    eraseUser: route("DELETE /api/v1/users/:id", "Erases a user: everything of it, in every store", {
      params: user,
      answers: ERASED,
      errors: ["not_found"],
    }),
    auditUser: route("GET /api/v1/users/:id/audit", "How much every store holds of a user: nothing after an erase", {
      details: "For operators: it reads whole tables, one user at a time.",
      params: user,
      answer: AuditAnswer,
      errors: ["index_unavailable"],
    }),
    getErasure: route(
      "GET /api/v1/erasures/:id",
      "How far a large erase has got, of a user or of a conversation; 30 days after its end, too",
      {
        answer: ErasureAnswer,
        errors: ["not_found"],
      },
    ),
  },
});

export function eraseRoutes({ config, stores, memory }: { config: Config; stores: Pick<Stores, "database">; memory: Memory }): Router {
  const { erase } = memory;
  const inTurn = bulkhead(1, Number.MAX_SAFE_INTEGER);
  return makeRouter(eraseOperations, {
    auditUser: [
      requireWholeTenant,
      async (request, response) => {
        const owner = { tenantId: tenantOf(response), userId: userInPath(request, response) };
        const { places, notSearched } = await inTurn.execute(() => auditUser(config, stores.database, owner));
        response.json({ places, not_searched: notSearched });
      },
    ],
    async getErasure(request, response) {
      const id = parseUuid("erasure id", request.params["id"]);
      const receipt = await erase.erasure(callerOf(response), id);
      if (!receipt) throw new AppError("not_found", `There is no erasure ${id}.`);
      const { isPending, left } = receipt;
      response.json({ id, erased: countsOf(receipt), pending: isPending, left: { messages: left?.messages ?? 0 } });
    },
    async eraseUser(request, response) {
      sendEraseReceipt(response, await erase.user({ tenantId: tenantOf(response), userId: userInPath(request, response) }));
    },
    async forgetEpisode(request, response) {
      const episodeId = parseUuid("episode id", request.params["episode"]);
      const receipt = await erase.episode({ tenantId: tenantOf(response), userId: userInPath(request, response) }, episodeId);
      if (!receipt) throw new AppError("not_found", `This user has no episode ${episodeId}.`);
      sendEraseReceipt(response, receipt);
    },
  });
}
