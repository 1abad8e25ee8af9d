import { setTimeout as sleep } from "node:timers/promises";
import { callApi, type ApiRequest, type ApiResponse } from "./api-client.ts";
import type { Network } from "../../servers/real-client.ts";

const PATIENCE_MS = 120_000;
const ONE_TRY_MS = 30_000;
const LONGEST_PAUSE_MS = 1_000;
const RETRYABLE = new Set([408, 409, 425, 429, 502, 503, 504]);

/** An answer that tells of a fault in the service itself. */
class ServerFault extends Error {}

/** Asks one process after another until one gives an answer that is not "later"; for requests that may be sent twice. Throws when none does, or at a 500. */
export async function insist<Body>(
  network: Network,
  path: string,
  request: ApiRequest,
  random: (below: number) => number,
): Promise<ApiResponse<Body>> {
  const deadline = performance.now() + PATIENCE_MS;
  let last = "";
  for (let pause = 50; performance.now() < deadline; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    const addresses = network.addresses();
    const url = `${addresses[random(addresses.length)]}${path}`;
    try {
      const answer = await callApi<Body>(url, { ...request, signal: AbortSignal.timeout(ONE_TRY_MS) });
      if (!RETRYABLE.has(answer.status)) {
        if (answer.status >= 500) throw new ServerFault(`${request.method ?? "GET"} ${url} answered ${answer.status}: ${answer.text}`);
        return answer;
      }
      last = `${answer.status} ${answer.text}`;
    } catch (error) {
      if (error instanceof ServerFault) throw error;
      last = String(error);
    }
    await sleep(pause / 2 + random(pause));
  }
  throw new Error(`${request.method ?? "GET"} ${path} found no process that answers within ${PATIENCE_MS} ms: ${last}`);
}
