import type { Receipt, Turn } from "../../api/types.ts";
import { texts } from "../../texts/texts.ts";
import { PassageText } from "../passage-text.tsx";

type ReceiptPassage = Receipt["passages"][number];

function Used({ passage: { id, title }, number, prefix }: { passage: ReceiptPassage; number: number; prefix: string | undefined }) {
  return (
    <>
      <p dir="auto">
        <strong>
          [{number}] {title}
        </strong>
      </p>
      {prefix !== undefined && <PassageText prefix={prefix} id={id} />}
    </>
  );
}

export function UsedPassages({ turn: { receipt, route_decision: decision, degraded } }: { turn: Turn }) {
  const t = texts.value.inspector;
  if (!receipt) return null;
  return (
    <section>
      <h3>{t.passages}</h3>
      {receipt.passages.length === 0 && <p class="quiet">{degraded?.includes("knowledge") ? t.unavailable : t.noPassages}</p>}
      <ol class="cards">
        {receipt.passages.map((passage, index) => (
          <li key={passage.id} class="card">
            <Used passage={passage} number={index + 1} prefix={decision?.kb_prefix} />
          </li>
        ))}
      </ol>
    </section>
  );
}
