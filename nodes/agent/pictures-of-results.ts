import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { Sight } from "../../models/facts/sight.ts";
import { picturedMessage } from "../../models/pictured-message.ts";
import type { Picture } from "../../turn/picture.ts";

/** Behind the results, since servers take no pictures in them. A model that cannot see reads that they were left out. */
export function picturesOfResults(
  pictures: readonly Picture[] = [],
  { sight, model }: { sight: Pick<Sight, "sees" | "tokensOf">; model: string },
): BaseMessage[] {
  if (pictures.length === 0) return [];
  const which = `${pictures.length === 1 ? "A picture" : `${pictures.length} pictures`} of the results of the calls`;
  if (sight.sees(model) === false) return [new HumanMessage(`[${which}: left out, since this model cannot see]`)];
  return [picturedMessage(`[${which}. Where none is shown here, it was left out]`, pictures, { tokens: sight.tokensOf(model, pictures) })];
}
