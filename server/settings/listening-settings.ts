import { z } from "zod";
import { apiKeys } from "./api-keys.ts";
import { hostNames, httpUrl, origins, trustedProxies, wholeNumber } from "./setting-types.ts";

export const listening = {
  PORT: wholeNumber(0, 65_535).default(8000).describe("The port. 0 takes a free one. In Docker Compose, SERVICE_PORT is the port outside."),
  HOST: z.string().default("127.0.0.1").describe("The interface. One that other machines can reach needs API_KEYS or tokens."),
  API_KEYS: apiKeys
    .optional()
    .describe(
      "Keys, as `key:tenant` or `key:tenant:scope`, joined by commas. The scope is `read`, `write` or `admin`. Where other machines can reach the service, a key has 8 or more characters. Unset: no key is asked for.",
    ),
  JWT_SECRET: z
    .string()
    .min(32, "must have 32 or more characters")
    .optional()
    .describe("The secret of 32 or more characters that signs users' tokens (HS256, HS384, HS512)."),
  JWT_JWKS_URL: httpUrl.optional().describe("The address that publishes the keys which sign users' tokens. Set this or JWT_SECRET."),
  JWT_ISSUER: z.string().optional().describe("The issuer that a token must name. Unset: any."),
  JWT_AUDIENCE: z.string().optional().describe("The audience that a token must name. Unset: any."),
  JWT_USER_CLAIM: z.string().default("sub").describe("The claim that names the user."),
  JWT_TENANT_CLAIM: z.string().optional().describe("The claim that names the tenant. Unset: everybody's tenant is `default`."),
  CORS_ORIGINS: origins
    .optional()
    .describe(
      "Web pages of these origins may call the service from a browser. Joined by commas; `*` allows all. Unset: only the service's own page.",
    ),
  ALLOWED_HOSTS: hostNames
    .optional()
    .describe(
      "Names besides localhost under which a service without keys answers, joined by commas, without ports. They are the names of a proxy or tunnel on this machine.",
    ),
  TRUST_PROXY: trustedProxies
    .optional()
    .describe(
      "How many proxies stand in front of the service, or their addresses. The service then believes their X-Forwarded-For. Unset: none.",
    ),
};
