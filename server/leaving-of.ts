import type { ServerResponse } from "node:http";

/** Aborts when the client has left, with `reason` if there is one. */
export function leavingOf(response: ServerResponse, reason?: unknown): AbortSignal {
  const leaving = new AbortController();
  if (response.closed) leaving.abort(reason);
  else response.once("close", () => leaving.abort(reason));
  return leaving.signal;
}
