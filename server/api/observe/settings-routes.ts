import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Router } from "express";
import { z } from "zod";
import { packageFile } from "../../../errors/package-file.ts";
import { callerOf, requireOperator, withCallersUser } from "../../auth/caller.ts";
import type { Config } from "../../settings/config.ts";
import type { Limits } from "../../limits/open-limits.ts";
import { makeRouter, operationGroup, route } from "../../http/operation.ts";
import { callerId, parseRequest } from "../../http/parse-request.ts";
import { Limit } from "../../limits/list-limits.ts";
import { showSettings } from "../../settings/show-settings.ts";

const Setting = z.object({
  name: z.string(),
  group: z.string(),
  value: z.string().nullable().describe("Null when nothing is set, and of a secret. Addresses stand without passwords and queries."),
  secret: z.boolean().describe("Its value is never told."),
  set: z.boolean().describe("It differs from its default."),
  meaning: z.string(),
});
const SettingList = z.object({
  version: z.string().describe("Of the service."),
  node: z.string().describe("Of Node.js."),
  settings: z.array(Setting).describe("In the order of docs/configuration.md."),
});
const LimitsQuery = z.object({ user_id: callerId.optional().describe("Whose use is told. With a user's token it is that user.") });
const LimitList = z.object({ limits: z.array(Limit) });

export const settingsOperations = operationGroup({
  tag: "service",
  schemas: { SettingList, Limit, LimitList },
  routes: {
    listSettings: route("GET /api/v1/settings", "The version and the settings in force, without secrets: for a key of scope admin", {
      answer: SettingList,
    }),
    listLimits: route("GET /api/v1/limits", "The limits of a tenant and a user, and how much of them is used", {
      query: LimitsQuery,
      answer: LimitList,
    }),
  },
});

const { version } = JSON.parse(readFileSync(fileURLToPath(packageFile("package.json")), "utf8")) as { version: string };

export function settingsRoutes({ config, limits }: { config: Config; limits: Limits }): Router {
  return makeRouter(settingsOperations, {
    listSettings: [
      requireOperator,
      (_request, response) => {
        response.json({ version, node: process.version, settings: showSettings(config) });
      },
    ],
    async listLimits(request, response) {
      const { user_id: userId } = parseRequest(LimitsQuery, withCallersUser(response, request.query));
      response.json({ limits: await limits.list(callerOf(response).tenantId, userId ?? null) });
    },
  });
}
