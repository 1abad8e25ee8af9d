/** How long a dependency may take to answer, in milliseconds. */
const PROBE_TIMEOUT_MS = 2_000;
/** A model's server is asked at most this often, in milliseconds: probes come every few seconds from every balancer. */
const MODEL_PROBE_EVERY_MS = 5_000;

/** Resolves when the dependency can serve; rejects otherwise. */
export type DependencyCheck = () => Promise<void>;

/** A probe that counts as failed when it takes too long. */
export function withTimeout(probe: () => Promise<unknown>): DependencyCheck {
  return function probeInTime() {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => reject(new Error(`no answer within ${PROBE_TIMEOUT_MS} ms`)), PROBE_TIMEOUT_MS);
    probe()
      .then(() => resolve(), reject)
      .finally(() => clearTimeout(timer));
    return promise;
  };
}

/** Asks for the list of models, which costs nothing. Any answer below 500 counts: not every server has that list. */
export function checkModelServer(baseUrl: string, apiKey: string | undefined): DependencyCheck {
  let last: { at: number; outcome: Promise<void> } | undefined;
  async function probe(): Promise<void> {
    const response = await fetch(`${baseUrl.replace(/\/$/, "")}/models`, {
      headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    });
    await response.body?.cancel();
    if (response.status >= 500) throw new Error(`status ${response.status}`);
  }
  return () => {
    if (!last || performance.now() - last.at > MODEL_PROBE_EVERY_MS) last = { at: performance.now(), outcome: probe() };
    return last.outcome;
  };
}
