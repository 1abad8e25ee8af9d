import type { ContextCompressed } from "../../api/types.ts";
import { showNumber, texts } from "../../texts/texts.ts";

export function CompressedNote({ event }: { event: ContextCompressed }) {
  const t = texts.value.context;
  const { strategy, tokens_before, tokens_after, original_message_count, final_message_count, utilization_pct } = event;
  return (
    <p class="note small">
      {t.strategies[strategy]} {t.compressed(showNumber(tokens_before), showNumber(tokens_after), utilization_pct)}
      {final_message_count < original_message_count && ` ${t.messages(original_message_count, final_message_count)}`}
    </p>
  );
}
