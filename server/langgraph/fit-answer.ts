import type { Response } from "express";
import { fittingPage } from "../../stores/page.ts";

/** The items from an offset on that fit into one answer. Its header says where the next ones begin. `total`: default those there are. */
export function fitAnswer<Item>(response: Response, items: readonly Item[], offset: number, total = offset + items.length): Item[] {
  const shown = fittingPage(items);
  const end = offset + shown.length;
  if (end < total) response.set("x-pagination-next", String(end));
  return shown;
}
