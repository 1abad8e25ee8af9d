import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { Sight } from "../../models/facts/sight.ts";
import { picturedMessage } from "../../models/wire/pictured-message.ts";
import { MOST_PICTURE_BYTES, type Picture } from "../../turn/picture.ts";

interface Looker {
  sight: Pick<Sight, "sees" | "tokensOf">;
  /** Its name. */
  model: string;
}

/** Behind the results, since servers take no pictures in them. A model that cannot see reads that they were left out. */
export const picturesOfResults = (pictures: readonly Picture[], looker: Looker): BaseMessage[] => makeShowPictures(looker)(pictures);

/** Of the pictures of a loop's results together. Servers of models take little more in one request. */
const MOST_BYTES = 2 * MOST_PICTURE_BYTES;

/** The same for each round of a loop. What all rounds have no room for is left out. */
export function makeShowPictures({ sight, model }: Looker): (pictures: readonly Picture[]) => BaseMessage[] {
  let left = MOST_BYTES;
  return (pictures) => {
    if (pictures.length === 0) return [];
    const which = `${pictures.length === 1 ? "A picture" : `${pictures.length} pictures`} of the results of the calls`;
    if (sight.sees(model) === false) return [new HumanMessage(`[${which}: left out, since this model cannot see]`)];
    const shown = pictures.filter(({ file }) => {
      const bytes = file?.byteCount ?? 0;
      if (bytes > left) return false;
      left -= bytes;
      return true;
    });
    const tokens = sight.tokensOf(model, shown);
    return [picturedMessage(`[${which}. Where none is shown here, it was left out]`, shown, { tokens })];
  };
}
