import { randomId } from "./random-id.ts";

/** A new session. That of a temporary conversation is known by its name, in every browser. */
export const nameSession = (kind: "web-" | "temporary-" = "web-"): string => `${kind}${randomId()}`;

/** No list shows it, and it is erased when it is left. */
export const isTemporary = (session: string): boolean => session.startsWith("temporary-");
