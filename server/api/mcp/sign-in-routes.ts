import type { Router } from "express";
import { z } from "zod";
import { AppError } from "../../../errors/app-error.ts";
import type { Mcp } from "../../parts/open-mcp.ts";
import { makeRouter, operationGroup, route } from "../../http/operation.ts";
import { parseRequest } from "../../http/parse-request.ts";

const SignInQuery = z.object({
  state: z.string("must be given once").describe("As this service made it."),
  code: z.string("must be given once").optional().describe("Of the server; missing when the user has refused."),
});

export const signInOperations = operationGroup({
  tag: "MCP",
  routes: {
    finishSignIn: route("GET /mcp/signed-in", "Where browsers come back to from the sign-in at an MCP server", {
      query: SignInQuery,
      answers: { 200: { what: "The user has signed in.", content: { "text/plain": z.string() } } },
      isOpen: true,
      errors: ["invalid_request", "storage_unavailable"],
    }),
  },
});

export function signInRoutes({ mcp }: { mcp: Mcp }): Router {
  return makeRouter(signInOperations, {
    async finishSignIn(request, response) {
      const { state, code } = parseRequest(SignInQuery, request.query);
      if (code === undefined) throw AppError.invalid([{ field: "code", problem: "is missing: the server has not let you in" }]);
      const server = await mcp.finishSignIn(state, code);
      response.type("text/plain").send(`You have signed in at "${server}". Close this page, and go on where the address was shown.`);
    },
  });
}
