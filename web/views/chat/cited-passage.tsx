import type { Source } from "../../state/page/sources.ts";
import { texts } from "../../texts/texts.ts";
import { PassageText } from "../passage-text.tsx";

export function CitedPassage({ source: { number, title, prefix, passageId } }: { source: Source }) {
  return (
    <div class="inspector cited" data-passage={passageId}>
      <p dir="auto">
        <strong>
          [{number}] {title}
        </strong>
        <br />
        <span class="quiet small">{texts.value.chat.fromBase(prefix)}</span>
      </p>
      <PassageText prefix={prefix} id={passageId} />
    </div>
  );
}
