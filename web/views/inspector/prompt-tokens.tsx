import type { Turn } from "../../api/types.ts";
import { showCost, showNumber, texts } from "../../texts/texts.ts";
import { TokenParts } from "../token-parts.tsx";

export function PromptTokens({ turn: { receipt, usage, cost } }: { turn: Turn }) {
  const t = texts.value.inspector;
  if (!receipt) return null;
  const counts = receipt.prompt_tokens;
  return (
    <section>
      <h3>{t.prompt}</h3>
      {usage && (
        <p class="quiet small">
          {t.tokens(showNumber(usage.prompt_tokens))} → {t.tokens(showNumber(usage.completion_tokens))}
          {usage.estimated && ` (${t.estimated})`} · {texts.value.context.cost}: {showCost(cost)}
        </p>
      )}
      {counts ? <TokenParts counts={counts} /> : <p class="quiet">{t.noTokens}</p>}
      <p class="quiet small">{t.windowMessages(receipt.window_messages)}</p>
    </section>
  );
}
