import { collectDefaultMetrics, Registry } from "prom-client";

let ofThisProcess: Registry | undefined;

/** CPU, memory, garbage collection, event loop lag: of the whole process, so watched once, however many services it has. */
export function processMetrics(): Registry {
  if (!ofThisProcess) {
    ofThisProcess = new Registry();
    collectDefaultMetrics({ register: ofThisProcess });
  }
  return ofThisProcess;
}
