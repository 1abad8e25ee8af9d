import type { Receipt, Usage } from "../../api/types.ts";
import { showNumber, texts } from "../../texts/texts.ts";

const PROMPT_PARTS = ["system", "instructions", "core_memory", "summary", "window", "episodes", "passages", "message"] as const;

/** The parts of the prompt in tokens: one bar, and its numbers under it. */
export function PromptTokens({ receipt, usage }: { receipt: Receipt; usage: Usage | null }) {
  const t = texts.value.inspector;
  const counts = receipt.prompt_tokens;
  // Few prompts have instructions.
  const parts = PROMPT_PARTS.flatMap((layer) => {
    const tokens = counts?.[layer];
    return tokens === undefined ? [] : [{ layer, tokens }];
  });
  const total = parts.reduce((sum, { tokens }) => sum + tokens, 0);
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
            {parts
              .filter(({ tokens }) => tokens > 0)
              .map(({ layer, tokens }) => (
                <span key={layer} class={`layer-${layer}`} style={{ width: `${(tokens / Math.max(total, 1)) * 100}%` }} />
              ))}
          </div>
          <table class="token-table">
            <tbody>
              {parts.map(({ layer, tokens }) => (
                <tr key={layer} data-layer={layer} class={tokens > 0 ? "" : "quiet"}>
                  <th scope="row">
                    <span class={`swatch layer-${layer}`} aria-hidden="true" />
                    {t.layers[layer]}
                  </th>
                  <td>{showNumber(tokens)}</td>
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
