import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

/** Makes texts unreadable without SECRETS_KEY. `of` names the place: a text sealed for it cannot be opened at another. */
export interface Seal {
  seal(text: string, of: string): string;
  /** Null when it was sealed with another key, for another place, or was changed. */
  open(sealed: string, of: string): string | null;
}

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export function makeSeal(secretsKey: string): Seal {
  const key = Buffer.from(hkdfSync("sha256", secretsKey, "", "conversation-graph secrets", 32));
  return {
    seal(text, of) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(of));
      const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString("base64url");
    },
    open(sealed, of) {
      const bytes = Buffer.from(sealed, "base64url");
      try {
        const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
          .setAAD(Buffer.from(of))
          .setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
        return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString("utf8");
      } catch {
        return null;
      }
    },
  };
}
