import { type SmallModel, smallModelMissing, startSmallModel } from "../../test/servers/small-model-server.ts";

/** The small model's server; without a model the process ends with one line that says what it needs. */
export function startSmallModelOrEnd(given: SmallModel): ReturnType<typeof startSmallModel> {
  if (smallModelMissing === undefined) return startSmallModel(given);
  console.error(smallModelMissing);
  process.exit(1);
}
