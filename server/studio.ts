import { parseConfig } from "./config.ts";
import { openGraph } from "./open-graph.ts";
import { readEnvironment } from "./read-environment.ts";

/** The same graph for LangGraph Studio. In memory unless DATABASE_URL or DATA_DIR is set: the service has the default folder for itself. */
export async function graph() {
  const environment = { ...readEnvironment() };
  if (!environment["DATABASE_URL"] && !environment["DATA_DIR"]) environment["DATA_DIR"] = "memory://";
  return (await openGraph(parseConfig(environment))).graph;
}
