import { openSource } from "../../state/page/side-panel.ts";
import { nameOf, type Source } from "../../state/page/sources.ts";
import { texts } from "../../texts/texts.ts";

export function Sources({ of }: { of: readonly Source[] }) {
  if (of.length === 0) return null;
  return (
    <details class="quiet small">
      <summary>{texts.value.chat.sources}</summary>
      <ul class="plain-list">
        {of.map((source) => (
          <li key={`${source.number} ${source.passageId}`}>
            <button type="button" class="quiet-button source" dir="auto" onClick={() => openSource(source)}>
              [{source.number}] {nameOf(source)}
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}
