import type { EraseAnswer } from "../api/types.ts";
import { showNumber, texts } from "../texts/texts.ts";

export function Receipt({ receipt }: { receipt: EraseAnswer }) {
  const { kinds, title } = texts.value.receipt;
  return (
    <div class="note success" role="status">
      <strong>{title}</strong>
      <dl class="counts">
        {Object.entries(receipt.erased).map(([kind, count]) => (
          <div key={kind}>
            <dt>{kinds[kind] ?? kind}</dt>
            <dd>{showNumber(count)}</dd>
          </div>
        ))}
      </dl>
      {receipt.pending && <p>{texts.value.memory.erase.pending}</p>}
    </div>
  );
}
