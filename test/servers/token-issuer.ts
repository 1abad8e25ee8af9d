import { createHmac } from "node:crypto";
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK, type JWTPayload } from "jose";
import { startHttpServer } from "./http-server.ts";

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

export const tokenPart = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A token that is signed with a shared secret, good for five minutes unless its claims say otherwise. */
export function secretToken(claims: Claims, { alg = "HS256", secret = JWT_SECRET, header = {} } = {}): string {
  const signed = `${tokenPart({ alg, ...header })}.${tokenPart({ exp: Math.floor(Date.now() / 1_000) + 300, ...claims })}`;
  return `${signed}.${createHmac(alg.replace("HS", "sha"), secret).update(signed).digest("base64url")}`;
}

export const bearer = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` });

export type TokenIssuer = Awaited<ReturnType<typeof startTokenIssuer>>;

export async function startTokenIssuer(...keys: SigningKey[]) {
  let published = keys;
  let behaviour: "well" | "fails" | "nonsense" | "hangs" = "well";
  let asked = 0;
  const { origin, close } = await startHttpServer((_request, response) => {
    asked += 1;
    if (behaviour === "hangs") return;
    if (behaviour === "fails") return void response.writeHead(500).end();
    response.setHeader("content-type", "application/json");
    response.end(behaviour === "nonsense" ? "<html>" : JSON.stringify({ keys: published.map((key) => key.published) }));
  });
  return {
    url: `${origin}/jwks.json`,
    publish: (...next: SigningKey[]) => void (published = next),
    behave: (how: typeof behaviour) => void (behaviour = how),
    asked: (): number => asked,
    close,
  };
}
