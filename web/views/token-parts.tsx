import type { PromptTokens } from "../api/types.ts";
import { showNumber, texts } from "../texts/texts.ts";

export const PARTS = ["system", "instructions", "core_memory", "summary", "window", "episodes", "passages", "message", "pictures"] as const;

export function TokenParts({ counts }: { counts: PromptTokens }) {
  const t = texts.value.inspector;
  // Few prompts have instructions.
  const parts = PARTS.flatMap((layer) => {
    const tokens = counts[layer];
    return tokens === undefined ? [] : [{ layer, tokens }];
  });
  const total = parts.reduce((sum, { tokens }) => sum + tokens, 0);
  return (
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
  );
}
