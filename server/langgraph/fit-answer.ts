import type { Response } from "express";
import { fittingPage } from "../../stores/page.ts";

/** The items from an offset that fit into one answer. A header says where the next ones begin. `total`: default the number of items. */
export function fitAnswer<Item>(response: Response, items: readonly Item[], offset: number, total = offset + items.length): Item[] {
  const shown = fittingPage(items);
  const end = offset + shown.length;
  if (end < total) response.set("x-pagination-next", String(end));
  return shown;
}
