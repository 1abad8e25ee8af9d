import { randomUUID } from "node:crypto";
import express from "express";
import { InvalidGrantError, InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import type { OAuthServerProvider } from "@modelcontextprotocol/sdk/server/auth/provider.js";
import { getOAuthProtectedResourceMetadataUrl, mcpAuthRouter } from "@modelcontextprotocol/sdk/server/auth/router.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { OAuthClientInformationFull, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import { freePort } from "./free-port.ts";
import { startHttpServer } from "./http-server.ts";

/** An MCP server with an authorisation server of its own: registration, PKCE, tokens that are refreshed and can be revoked. Whoever opens the address has signed in. */
export async function startOAuthMcpServer() {
  const port = await freePort();
  const url = `http://localhost:${port}/mcp`;
  const clients = new Map<string, OAuthClientInformationFull>();
  const codes = new Map<string, string>();
  const access = new Map<string, string>();
  const refresh = new Set<string>();
  const seen = { refreshed: 0, users: new Set<string>(), authorizations: [] as (string | undefined)[], urls: [] as string[] };

  function issue(clientId: string): OAuthTokens {
    const tokens = {
      access_token: `access-${randomUUID()}`,
      refresh_token: `refresh-${randomUUID()}`,
      token_type: "bearer",
      expires_in: 3_600,
    };
    access.set(tokens.access_token, clientId);
    refresh.add(tokens.refresh_token);
    return tokens;
  }

  const provider: OAuthServerProvider = {
    clientsStore: {
      getClient: (id) => clients.get(id),
      registerClient(given) {
        const client = given as OAuthClientInformationFull;
        clients.set(client.client_id, client);
        return client;
      },
    },
    async authorize(_client, { codeChallenge, redirectUri, state }, response) {
      const code = randomUUID();
      codes.set(code, codeChallenge);
      const back = new URL(redirectUri);
      back.searchParams.set("code", code);
      if (state !== undefined) back.searchParams.set("state", state);
      response.redirect(back.href);
    },
    async challengeForAuthorizationCode(_client, code) {
      const challenge = codes.get(code);
      if (challenge === undefined) throw new InvalidGrantError("no such code");
      return challenge;
    },
    async exchangeAuthorizationCode({ client_id: clientId }, code) {
      codes.delete(code);
      return issue(clientId);
    },
    async exchangeRefreshToken({ client_id: clientId }, token) {
      if (!refresh.delete(token)) throw new InvalidGrantError("revoked");
      seen.refreshed++;
      return issue(clientId);
    },
    async verifyAccessToken(token) {
      const clientId = access.get(token);
      if (clientId === undefined) throw new InvalidTokenError("expired");
      return { token, clientId, scopes: [], expiresAt: Date.now() / 1_000 + 3_600 };
    },
  };

  const issuerUrl = new URL(`http://localhost:${port}`);
  const resourceServerUrl = new URL(url);
  const noLimit = { rateLimit: false } as const;
  const app = express()
    .use((request, _response, next) => {
      seen.authorizations.push(request.get("authorization"));
      seen.urls.push(request.url);
      next();
    })
    .use(
      mcpAuthRouter({
        provider,
        issuerUrl,
        resourceServerUrl,
        authorizationOptions: noLimit,
        clientRegistrationOptions: noLimit,
        tokenOptions: noLimit,
      }),
    )
    .use(
      "/mcp",
      requireBearerAuth({ verifier: provider, resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resourceServerUrl) }),
      express.json(),
    )
    .post("/mcp", async (request, response) => {
      const server = new McpServer({ name: "private", version: "1" });
      server.registerTool("whoami", {}, () => ({ content: [{ type: "text", text: request.get("authorization") ?? "" }] }));
      server.registerTool("hello", {}, () => ({ content: [{ type: "text", text: "hello" }] }));
      const transport = new StreamableHTTPServerTransport({});
      await server.connect(transport);
      await transport.handleRequest(request, response, request.body);
    });
  const { close } = await startHttpServer(app, port);
  return {
    url,
    seen,
    clients: () => clients.size,
    /** Access tokens have expired. */
    expire: () => access.clear(),
    revoke(): void {
      access.clear();
      refresh.clear();
    },
    close,
  };
}
