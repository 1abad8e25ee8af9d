import type { Response } from "express";

/** What a caller may do, each with all of those before it: README, "Keys and tokens". */
export const SCOPES = ["read", "write", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

/** What a tenant may be called. */
export const TENANT_ID = /^[\w.-]{1,64}$/;

/** On whose behalf a request comes, as `authenticate` found it. */
export interface Caller {
  tenantId: string;
  /** The one user this caller is; null when it may act for every user of its tenant. */
  userId: string | null;
  scope: Scope;
  /** Whether what operators see covers the other tenants, too. */
  everyTenant: boolean;
}

/** Everybody, while neither keys nor tokens are configured. */
export const ANYBODY: Caller = { tenantId: "default", userId: null, scope: "admin", everyTenant: true };

/** Whose request this is. Throws when its route stands before `authenticate`. */
export function callerOf(response: Response): Caller {
  const caller = response.locals["caller"] as Caller | undefined;
  if (!caller) throw new Error("a route that needs a caller stands before authenticate");
  return caller;
}

export function tenantOf(response: Response): string {
  return callerOf(response).tenantId;
}

/** Whether a caller may see and do what is this user's, in its own tenant. */
export function actsFor({ userId }: Caller, owner: string): boolean {
  return userId === null || userId === owner;
}
