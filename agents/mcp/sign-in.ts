import { SIGN_IN_ANSWERS } from "../../turn/question.ts";
import type { OAuthClientProvider, OAuthDiscoveryState } from "@modelcontextprotocol/sdk/client/auth.js";
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import type { Owner } from "../../turn/owner.ts";
import { DynamicStructuredTool } from "@langchain/core/tools";
import { z } from "zod";
import type { AgentTool } from "../tool.ts";

/** The result of a user's sign-in at a server. */
export interface Grant {
  client?: OAuthClientInformationMixed | undefined;
  tokens?: OAuthTokens | undefined;
  discovery?: OAuthDiscoveryState | undefined;
}

/** The server of a sign-in: its name can move to another address, and grants for this one must not. */
export interface SignInPlace {
  server: string;
  origin: string;
}

/** Keeps grants unreadable, each for one user at one place. */
export interface GrantKeeper {
  load: (owner: Owner, place: SignInPlace) => Promise<Grant>;
  save: (owner: Owner, place: SignInPlace, grant: Grant) => Promise<void>;
}

/** A begun sign-in. It travels, sealed, through the user's browser, as the `state` of OAuth: no process has to keep it. */
export interface BegunSignIn extends Owner, SignInPlace {
  /** PKCE's. */
  verifier: string;
  /** Milliseconds since 1970. */
  until: number;
}

export interface SignInParts extends GrantKeeper {
  /** Where browsers come back to. */
  redirectUrl: string;
  sealState: (begun: BegunSignIn) => string;
}

/** The time for a user's sign-in. */
export const SIGN_IN_MS = 600_000;

/** A user at a server that wants OAuth 2.1; the SDK does the rest. */
export interface SignIn {
  provider: OAuthClientProvider;
  /** Where the user has to sign in, once the server has asked for it. */
  address: () => string | null;
  /** What nobody may see. */
  secrets: () => string[];
}

/** `verifier`: of the sign-in that comes back. */
export async function openSignIn(
  { load, save, redirectUrl, sealState }: SignInParts,
  owner: Owner,
  { server, origin }: SignInPlace,
  verifier: string | null = null,
): Promise<SignIn> {
  let grant = await load(owner, { server, origin });
  let ofPkce = verifier;
  let address: string | null = null;
  const change = (changes: Grant): Promise<void> => {
    grant = { ...grant, ...changes };
    return save(owner, { server, origin }, grant);
  };
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: {
      client_name: "conversation-graph",
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    clientInformation: () => grant.client,
    saveClientInformation: (client) => change({ client }),
    tokens: () => grant.tokens,
    saveTokens: (tokens) => change({ tokens }),
    saveCodeVerifier(made) {
      ofPkce = made;
    },
    codeVerifier() {
      if (ofPkce === null) throw new Error("no sign-in has begun");
      return ofPkce;
    },
    redirectToAuthorization(url) {
      const begun = {
        tenantId: owner.tenantId,
        userId: owner.userId,
        server,
        origin,
        verifier: ofPkce ?? "",
        until: Date.now() + SIGN_IN_MS,
      };
      url.searchParams.set("state", sealState(begun));
      address = url.href;
    },
    discoveryState: () => grant.discovery,
    saveDiscoveryState: (discovery) => change({ discovery }),
    async invalidateCredentials(scope) {
      if (scope === "all") await change({ client: undefined, tokens: undefined, discovery: undefined });
      if (scope === "client") await change({ client: undefined });
      if (scope === "tokens") await change({ tokens: undefined });
      if (scope === "discovery") await change({ discovery: undefined });
    },
  };
  const secrets = () => [grant.tokens?.access_token, grant.tokens?.refresh_token].filter((token) => token !== undefined);
  return { provider, address: () => address, secrets };
}

const [SIGNED_IN, SKIP] = SIGN_IN_ANSWERS;

/** Replaces the tools of a server without a sign-in: its call asks the user to sign in. */
export function makeSignInTool(server: string, address: string): AgentTool {
  const name = `mcp__${server}__sign_in`;
  return {
    name,
    isHarmless: true,
    onlyReads: true,
    asks: () => ({
      type: "decision",
      sign_in: { server, url: address },
      question: `To use the tools of "${server}", open this address and sign in: ${address}`,
      options: [
        { label: SIGNED_IN, description: "Go on with its tools.", is_recommended: true },
        { label: SKIP, description: "Go on without them.", is_recommended: false },
      ],
      ifUnanswered: SKIP,
      timeoutMs: SIGN_IN_MS,
    }),
    tool: new DynamicStructuredTool({
      name,
      description: `The tools of "${server}" can be used once the user has signed in there. Asks the user to do so. Call it when you need them.`,
      schema: z.strictObject({}),
      func: async () => "",
    }),
  };
}
