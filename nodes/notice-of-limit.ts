import type { Notice } from "../graph/turn-event.ts";
import type { AssembledPrompt } from "./assemble-prompt.ts";

function oldestAre(count: number): string {
  return count === 1 ? "the oldest recent message is left out" : `the oldest ${count} recent messages are left out`;
}

/** What a user should know about a prompt that is at its limit; null when everything is in it. */
export function noticeOfLimit(
  { leftOut, shortened }: Pick<AssembledPrompt, "leftOut" | "shortened">,
  { windowIsWhole, tokenBudget }: { windowIsWhole: boolean; tokenBudget: number },
): Notice | null {
  const missing = leftOut.messages > 0 || !windowIsWhole;
  if (!missing && shortened === 0) return null;
  const what = [
    ...(missing ? [windowIsWhole ? oldestAre(leftOut.messages) : "older messages are left out"] : []),
    ...(shortened > 0 ? [`${shortened} long message${shortened === 1 ? " is" : "s are"} shortened`] : []),
  ];
  return {
    code: "context_trimmed",
    message: `The prompt is at its limit of ${tokenBudget} tokens: ${what.join(", and ")}. Nothing is lost in the store.`,
  };
}
