/** 32 random hexadecimal digits. `crypto.randomUUID` exists only on https and on this machine, and the page is served on others, too. */
export function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
