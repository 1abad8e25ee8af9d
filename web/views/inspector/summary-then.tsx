import { readSummary } from "../../api/view-endpoints.ts";
import type { Turn } from "../../api/types.ts";
import { texts } from "../../texts/texts.ts";
import { LoadState, useLoaded } from "../loaded.tsx";

function SummaryText({ conversationId, version }: { conversationId: string; version: number }) {
  const t = texts.value.inspector;
  const loaded = useLoaded(() => readSummary(conversationId, version), [conversationId, version]);
  if (loaded.error?.status === 404) return <p class="quiet">{t.summaryGone}</p>;
  return (
    <LoadState of={loaded}>
      {({ summary }) =>
        summary === null ? (
          <p class="quiet">{t.summaryGone}</p>
        ) : (
          <blockquote class="as-written" dir="auto">
            {summary.text}
          </blockquote>
        )
      }
    </LoadState>
  );
}

export function SummaryThen({ turn: { receipt, conversation_id: conversationId, degraded } }: { turn: Turn }) {
  const t = texts.value.inspector;
  if (!receipt) return null;
  const { summary } = receipt;
  return (
    <section>
      <h3>{t.layers.summary}</h3>
      {summary && conversationId !== null ? (
        <>
          <p class="quiet small">{t.summary(summary.version, summary.covered_message_count)}</p>
          <SummaryText conversationId={conversationId} version={summary.version} />
        </>
      ) : (
        <p class="quiet">{degraded?.includes("summary") ? t.unavailable : t.noSummary}</p>
      )}
    </section>
  );
}
