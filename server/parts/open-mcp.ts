import { loadMcpConfig } from "../../agents/mcp/load-mcp-config.ts";
import { HttpSpec, originOf, type McpServers, type McpTimes } from "../../agents/mcp/mcp-server.ts";
import { makeMcpServers } from "../../agents/mcp/mcp-servers.ts";
import type { PublicFetchParts } from "../../agents/web/public-fetch.ts";
import { AppError } from "../../errors/app-error.ts";
import { makeMcpGrantStore, makeMcpServerStore, type McpGrantStore } from "../../stores/postgres/agents/mcp-server-store.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import type { Owner } from "../../turn/owner.ts";
import { type BegunSignIn, type Grant, openSignIn, type SignInParts, type SignInPlace } from "../../agents/mcp/sign-in.ts";
import { fetchFor } from "../../agents/mcp/open-transport.ts";
import { makeSeal, type Seal } from "./seal.ts";
import type { Config } from "../settings/config.ts";

export interface McpOptions {
  /** How servers of tenants are reached. */
  reach?: PublicFetchParts;
  times?: McpTimes;
}

/** The MCP servers that agents may use, and the store of tenants' servers. */
export interface Mcp {
  servers: McpServers;
  /** The system's servers. A tenant's server cannot have one of these names. */
  systemNames: readonly string[];
  /** A spec is null where this SECRETS_KEY cannot read it. */
  listOf(tenantId: string): Promise<{ name: string; spec: HttpSpec | null }[]>;
  /** Throws AppError `forbidden` without SECRETS_KEY. */
  put(tenantId: string, name: string, spec: HttpSpec): Promise<{ isNew: boolean }>;
  remove(tenantId: string, name: string): Promise<boolean>;
  /** Ends the sign-in of a browser that comes back from a server; returns the server's name. Throws AppError `invalid_request`. */
  finishSignIn(state: string, code: string): Promise<string>;
  close(): Promise<void>;
}

const STATE = "state of a sign-in at an MCP server";
const refuseState = (problem: string): AppError => AppError.invalid([{ field: "state", problem }]);

function signInParts(seal: Seal, publicUrl: string, store: McpGrantStore): SignInParts {
  const placeOf = ({ tenantId, userId }: Owner, { server, origin }: SignInPlace): string =>
    JSON.stringify(["mcp grant", tenantId, userId, server, origin]);
  return {
    redirectUrl: new URL("mcp/signed-in", publicUrl.endsWith("/") ? publicUrl : `${publicUrl}/`).href,
    sealState: (begun) => seal.seal(JSON.stringify(begun), STATE),
    async load(owner, place) {
      const sealed = await store.find(owner, place.server);
      const opened = sealed === null ? null : seal.open(sealed, placeOf(owner, place));
      return opened === null ? {} : (JSON.parse(opened) as Grant);
    },
    save: (owner, place, grant) => store.save(owner, place.server, seal.seal(JSON.stringify(grant), placeOf(owner, place))),
  };
}

/** Throws AppError `invalid_configuration` when MCP_CONFIG is wrong. */
export async function openMcp(config: Config, database: Database, { reach, times }: McpOptions = {}): Promise<Mcp> {
  const system = config.MCP_CONFIG === undefined ? [] : await loadMcpConfig(config.MCP_CONFIG, process.env);
  const store = makeMcpServerStore(database);
  const seal = config.SECRETS_KEY === undefined ? null : makeSeal(config.SECRETS_KEY);
  const placeOf = (tenantId: string, name: string): string => JSON.stringify(["mcp server", tenantId, name]);

  async function ofTenant(tenantId: string) {
    return (await store.list(tenantId)).map(({ name, sealed, version }) => {
      const opened = seal?.open(sealed, placeOf(tenantId, name)) ?? null;
      return { name, version, spec: opened === null ? null : HttpSpec.parse(JSON.parse(opened)) };
    });
  }

  let reached: Promise<typeof fetch> | undefined;
  const publicFetch = () => (reached ??= import("../../agents/web/public-fetch.ts").then(({ makePublicFetch }) => makePublicFetch(reach)));
  const signIns = seal && config.PUBLIC_URL !== undefined ? signInParts(seal, config.PUBLIC_URL, makeMcpGrantStore(database)) : null;
  const servers = makeMcpServers({
    system,
    ofTenant,
    trustHints: config.TRUST_MCP_HINTS,
    signIn: signIns && ((owner, server) => openSignIn(signIns, owner, { server: server.name, origin: originOf(server) })),
    publicFetch,
    ...(times ? { times } : {}),
  });
  return {
    servers,
    systemNames: system.map(({ name }) => name),
    listOf: ofTenant,
    async put(tenantId, name, spec) {
      if (!seal) throw new AppError("forbidden", "This service keeps no MCP servers of tenants: its operator has set no SECRETS_KEY.");
      const before = (await ofTenant(tenantId)).find((one) => one.name === name)?.spec;
      const keepsGrants = before ? originOf({ spec: before }) === originOf({ spec }) : false;
      return store.put(tenantId, name, seal.seal(JSON.stringify(spec), placeOf(tenantId, name)), { keepsGrants });
    },
    remove: (tenantId, name) => store.remove(tenantId, name),

    async finishSignIn(state, code) {
      const opened = seal?.open(state, STATE) ?? null;
      const begun = opened === null ? null : (JSON.parse(opened) as BegunSignIn);
      if (!signIns || !begun || begun.until < Date.now())
        throw refuseState("is none that this service has given within ten minutes; ask again");
      const { server: name, origin, verifier, tenantId, userId } = begun;
      const ofTenants = (await ofTenant(tenantId)).flatMap(({ spec, ...rest }) =>
        spec ? [{ ...rest, spec, tier: "tenant" as const }] : [],
      );
      const server = [...system, ...ofTenants].find((one) => one.name === name);
      if (!server || !("url" in server.spec) || originOf(server) !== origin)
        throw refuseState("is of a server that is there no more, or at another address; ask again");
      const { provider } = await openSignIn(signIns, { tenantId, userId }, { server: name, origin }, verifier);
      const [{ auth }, fetchFn] = await Promise.all([import("@modelcontextprotocol/sdk/client/auth.js"), fetchFor(server, publicFetch)]);
      const options = { serverUrl: server.spec.url, authorizationCode: code, fetchFn };
      await auth(provider, options).catch((cause: unknown) => {
        throw new AppError("invalid_request", `code: was not taken by the server "${name}"; ask again, and sign in anew`, {
          details: [{ field: "code", problem: `was not taken by the server "${name}"; ask again, and sign in anew` }],
          cause,
        });
      });
      return name;
    },
    close: () => servers.close(),
  };
}
