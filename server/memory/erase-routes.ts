import { bulkhead } from "cockatiel";
import type { Response, Router } from "express";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import type { EraseReceipt } from "../../memory/erase/erase.ts";
import { callerOf, requireWholeTenant, tenantOf, userInPath } from "../auth/caller.ts";
import { auditUser } from "./audit-user.ts";
import type { AppParts } from "../http/app-parts.ts";
import { parseUuid, callerId } from "../http/parse-request.ts";
import { makeRouter, operationGroup, route, jsonAnswer, type Sent } from "../http/openapi/operation.ts";

const user = { id: callerId };

const counts = z.object({
  messages: z.int(),
  summaries: z.int(),
  episodes: z.int(),
  core_memory_sections: z.int(),
  memory_operations: z.int(),
  jobs: z.int(),
});

const EraseAnswer = z.object({
  erased: counts,
  forks: z
    .array(z.uuid())
    .optional()
    .describe("Forks that shared some of what was erased, and are without it now. Left out when there are none."),
  pending: z
    .array(z.enum(["messages", "episodes"]))
    .optional()
    .describe(
      "What a job still has to take out; nobody can find it any more. `messages`: the erase is a large one. `episodes`: the index is not clear, as in a large erase, or because it could not be reached or is switched off in this process.",
    ),
  left: z.object({ messages: z.int() }).optional().describe("Of a large erase, what is still to be taken out."),
  erasure_id: z.uuid().optional().describe("Of a large erase that is not done: its progress is read by this id."),
});

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

export const ERASED = {
  200: jsonAnswer(EraseAnswer, "How much of each kind was erased."),
  202: jsonAnswer(
    EraseAnswer,
    "Erased for everybody who asks, and a job takes out what is left: a large erase goes in batches, and the index may not be reachable. Of a large " +
      "erase `Location` and `erasure_id` say where its progress can be read. The same request again tells it, too, and erases what has come since.",
    ["Location"],
  ),
};

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

export function eraseRoutes({ config, stores, memory }: AppParts): Router {
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

const countsOf = ({ messages, summaries, episodes, coreMemorySections, memoryOperations, jobs }: EraseReceipt) => {
  return { messages, summaries, episodes, core_memory_sections: coreMemorySections, memory_operations: memoryOperations, jobs };
};

/** Answers 202 while a job still has to purge rows or clear the index. */
export function sendEraseReceipt(response: Response<Sent<z.output<typeof EraseAnswer>>>, receipt: EraseReceipt): void {
  const { isPending, left, forks } = receipt;
  if (left) response.location(`/api/v1/erasures/${left.erasureId}`);
  response.status(isPending ? 202 : 200).json({
    erased: countsOf(receipt),
    ...(forks.length > 0 ? { forks } : {}),
    ...(isPending ? { pending: [...(left && left.messages > 0 ? ["messages" as const] : []), "episodes" as const] } : {}),
    ...(left ? { left: { messages: left.messages }, erasure_id: left.erasureId } : {}),
  });
}
