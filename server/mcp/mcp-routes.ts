import type { Router } from "express";
import { z } from "zod";
import { AppError } from "../../errors/app-error.ts";
import { isTooDeep } from "../../text/nesting.ts";
import { callerOf } from "../auth/caller.ts";
import type { Limits } from "../limits/open-limits.ts";
import type { MemoryServerParts } from "./memory-server.ts";
import { abortSignalOnClose } from "../http/event-stream.ts";
import { jsonAnswer, jsonBody, makeRouter, operationGroup, route } from "../http/operation.ts";
import { parseRequest, TOO_DEEP } from "../http/parse-request.ts";
import { readJson, requireJson } from "../http/read-body.ts";
import { claimedUser, findUser } from "../turns/named-user.ts";

const MAX_BODY_BYTES = 256 * 1024;

const RequestId = z.union([z.string(), z.int()]);
const McpMessage = z
  .looseObject({
    jsonrpc: z.literal("2.0", 'must be "2.0": /mcp takes one message of JSON-RPC'),
    id: RequestId.optional(),
    method: z.string("must be a string").optional(),
    params: z.record(z.string(), z.unknown(), "must be an object").optional(),
  })
  .refine((message) => !isTooDeep(message), TOO_DEEP);
const McpAnswer = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: RequestId.nullable(),
  result: z.record(z.string(), z.unknown()).optional(),
  error: z.looseObject({ code: z.int(), message: z.string() }).optional(),
});

export const mcpOperations = operationGroup({
  tag: "MCP",
  schemas: { McpMessage, McpAnswer },
  routes: {
    callMcp: route("POST /mcp", "A user's memory for clients of the Model Context Protocol", {
      details:
        "Streamable HTTP without sessions: each message is answered by itself, with JSON. A key or token that may only read is offered the tools that read.",
      headers: ["X-User-Id"],
      body: jsonBody(McpMessage),
      answers: { 200: jsonAnswer(McpAnswer, "The answer to a request."), 202: { what: "A notification was taken.", content: {} } },
    }),
  },
});

/** For every scope, which decides the offered tools. */
export function mcpRoutes(parts: MemoryServerParts & { limits: Limits }): Router {
  return makeRouter(mcpOperations, {
    callMcp: [
      requireJson,
      readJson(MAX_BODY_BYTES),
      parts.limits.rates.ofUser(claimedUser),
      async (request, response) => {
        const message = parseRequest(McpMessage, request.body);
        const caller = callerOf(response);
        const owner = { tenantId: caller.tenantId, userId: findUser(request, caller) };
        const { answerMessage } = await import("./answer-message.ts"); // the first message loads the SDK
        const { status, text } = await answerMessage(parts, message, {
          owner,
          mayWrite: caller.scope !== "read",
          protocolVersion: request.get("mcp-protocol-version"),
          signal: abortSignalOnClose(response, new AppError("turn_cancelled", "The client left before the answer.")),
        });
        response.status(status);
        if (text === "") response.end();
        else response.type("json").send(text);
      },
    ],
  });
}
