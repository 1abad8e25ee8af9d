import type { Receipt, Usage } from "../../api/types.ts";
import { showNumber, texts } from "../../texts/texts.ts";

const PROMPT_PARTS = ["system", "core_memory", "summary", "window", "episodes", "passages", "message"] as const;

/** The parts of the prompt in tokens: one bar, and its numbers under it. */
export function PromptTokens({ receipt, usage }: { receipt: Receipt; usage: Usage | null }) {
  const t = texts.value.inspector;
  const counts = receipt.prompt_tokens;
  const total = counts ? PROMPT_PARTS.reduce((sum, layer) => sum + (counts[layer] ?? 0), 0) : 0;
  return (
    <section>
      <h3>{t.prompt}</h3>
      {usage && (
        <p class="quiet small">
          {t.tokens(showNumber(usage.prompt_tokens))} → {t.tokens(showNumber(usage.completion_tokens))}
          {usage.estimated && ` (${t.estimated})`}
        </p>
      )}
      {!counts && <p class="quiet">{t.noTokens}</p>}
      {counts && (
        <>
          <div class="token-bar" aria-hidden="true">
            {PROMPT_PARTS.filter((layer) => counts[layer] > 0).map((layer) => (
              <span key={layer} class={`layer-${layer}`} style={{ width: `${(counts[layer] / Math.max(total, 1)) * 100}%` }} />
            ))}
          </div>
          <table class="token-table">
            <tbody>
              {PROMPT_PARTS.map((layer) => (
                <tr key={layer} data-layer={layer} class={counts[layer] > 0 ? "" : "quiet"}>
                  <th scope="row">
                    <span class={`swatch layer-${layer}`} aria-hidden="true" />
                    {t.layers[layer]}
                  </th>
                  <td>{showNumber(counts[layer] ?? 0)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
      <p class="quiet small">{t.windowMessages(receipt.window_messages)}</p>
    </section>
  );
}
