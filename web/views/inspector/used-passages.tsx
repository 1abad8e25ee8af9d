import type { Receipt, Turn } from "../../api/types.ts";
import { texts } from "../../texts/texts.ts";
import { PassageText } from "../passage-text.tsx";

type ReceiptPassage = Receipt["passages"][number];

function Used({ passage: { id, title, score }, prefix }: { passage: ReceiptPassage; prefix: string | undefined }) {
  return (
    <>
      <p dir="auto">
        <strong>{title}</strong>
      </p>
      {prefix !== undefined && <PassageText prefix={prefix} id={id} />}
      <p class="quiet small">
        {texts.value.inspector.score} {score.toFixed(3)}
      </p>
    </>
  );
}

/** The passages in the prompt, unless their documents have changed. */
export function UsedPassages({ turn: { receipt, route_decision: decision } }: { turn: Turn }) {
  const t = texts.value.inspector;
  if (!receipt) return null;
  return (
    <section>
      <h3>{t.passages}</h3>
      {receipt.passages.length === 0 && <p class="quiet">{t.noPassages}</p>}
      <ol class="cards">
        {receipt.passages.map((passage) => (
          <li key={passage.id} class="card">
            <Used passage={passage} prefix={decision?.kb_prefix} />
          </li>
        ))}
      </ol>
    </section>
  );
}
