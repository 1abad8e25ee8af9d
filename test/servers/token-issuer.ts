import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK, type JWTPayload } from "jose";

/** A pair of keys, the public one as it is published. */
export interface SigningKey {
  kid: string;
  alg: string;
  privateKey: CryptoKey;
  publicKey: CryptoKey;
  published: JWK;
}

export async function makeSigningKey(kid: string, alg = "RS256"): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, publicKey, published: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

/** What a token says; what is undefined is left out. */
export type Claims = Record<string, unknown>;

/** A token of this key, good for five minutes unless its claims say otherwise; an `exp` of undefined leaves it out. */
export function signToken({ kid, alg, privateKey }: SigningKey, claims: Claims): Promise<string> {
  const payload = { exp: Math.floor(Date.now() / 1_000) + 300, ...claims };
  return new SignJWT(JSON.parse(JSON.stringify(payload)) as JWTPayload).setProtectedHeader({ alg, kid }).sign(privateKey);
}

export const JWT_SECRET = "a secret of more than thirty-two characters";

/** The part of a token that holds this JSON. */
export const tokenPart = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A token that is signed with a shared secret, good for five minutes unless its claims say otherwise. */
export function secretToken(claims: Claims, { alg = "HS256", secret = JWT_SECRET, header = {} } = {}): string {
  const signed = `${tokenPart({ alg, ...header })}.${tokenPart({ exp: Math.floor(Date.now() / 1_000) + 300, ...claims })}`;
  return `${signed}.${createHmac(alg.replace("HS", "sha"), secret).update(signed).digest("base64url")}`;
}

export const bearer = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` });

/** A server that publishes keys, as identity providers do. */
export interface TokenIssuer {
  url: string;
  /** Publishes these keys and no others from now on. */
  publish(...keys: SigningKey[]): void;
  /** How it answers: with its keys, with a 500, with what is no JSON, or not at all. */
  behave(how: "well" | "fails" | "nonsense" | "hangs"): void;
  /** How often it was asked. */
  asked(): number;
  close(): Promise<void>;
}

export async function startTokenIssuer(...keys: SigningKey[]): Promise<TokenIssuer> {
  let published = keys;
  let behaviour: Parameters<TokenIssuer["behave"]>[0] = "well";
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    if (behaviour === "hangs") return;
    if (behaviour === "fails") return void response.writeHead(500).end();
    response.setHeader("content-type", "application/json");
    response.end(behaviour === "nonsense" ? "<html>" : JSON.stringify({ keys: published.map((key) => key.published) }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`,
    publish: (...next) => void (published = next),
    behave: (how) => void (behaviour = how),
    asked: () => asked,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
