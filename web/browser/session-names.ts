import { randomId } from "./random-id.ts";

/** A new session. Its name tells a temporary conversation in every browser. */
export const nameSession = (kind: "web-" | "temporary-" = "web-"): string => `${kind}${randomId()}`;

/** Lists omit it, and leaving erases it. */
export const isTemporary = (session: string): boolean => session.startsWith("temporary-");
