import { useEffect } from "preact/hooks";
import { readTurn } from "../../api/endpoints.ts";
import type { Turn } from "../../api/types.ts";
import { language, texts } from "../../texts/texts.ts";
import { ErrorNote } from "../error-note.tsx";
import { LoadState, useLoaded } from "../loaded.tsx";
import { Changes } from "./changes.tsx";
import { Compare } from "./compare.tsx";
import { PromptTokens } from "./prompt-tokens.tsx";
import { RecalledEpisodes } from "./recalled-episodes.tsx";
import { SummaryThen } from "./summary-then.tsx";
import { Timeline } from "./timeline.tsx";
import { UsedPassages } from "./used-passages.tsx";
import { UsedSections } from "./used-sections.tsx";

const LOOK_AGAIN_MS = 1_500;

function Route({ turn: { route_decision: decision } }: { turn: Turn }) {
  const t = texts.value.inspector;
  if (!decision) return null;
  const isGeneral = decision.kb_prefix === "general";
  return (
    <section>
      <h3>{t.route}</h3>
      <p>
        <strong>{isGeneral ? t.general : decision.kb_prefix}</strong> · {t.methods[decision.method] ?? decision.method}
        {!isGeneral && ` · ${Math.round(decision.confidence * 100)} % ${t.confidence}`}
      </p>
      <p class="quiet small" dir="auto">
        {/* The service gives its reasons in English. */}
        {language.value === "en" && `${decision.reason} · `}
        <code>{decision.worker_name}</code>
      </p>
    </section>
  );
}

function Details({ turn }: { turn: Turn }) {
  const t = texts.value;
  const degraded = turn.degraded ?? [];
  return (
    <>
      <p>
        <span class={`badge state-${turn.state}`}>{t.inspector.states[turn.state]}</span>
        {turn.state === "running" && <span class="quiet"> {t.inspector.running}</span>}
      </p>
      {turn.error && <ErrorNote error={turn.error} />}
      {degraded.length > 0 && <p class="note warning">{t.chat.withoutLayers(degraded.map((layer) => t.layers[layer]).join(", "))}</p>}
      {turn.receipt && <UsedSections receipt={turn.receipt} isAway={degraded.includes("core_memory")} />}
      <SummaryThen turn={turn} />
      {turn.receipt && <RecalledEpisodes episodes={turn.receipt.episodes} isAway={degraded.includes("episodic")} />}
      <UsedPassages turn={turn} />
      {turn.message_id !== null && <Changes triggerMessageId={turn.message_id} />}
      <Route turn={turn} />
      <PromptTokens turn={turn} />
      {turn.timings && <Timeline timings={turn.timings} />}
      <Compare key={turn.id} turnId={turn.id} />
    </>
  );
}

/** What happened in a turn, which memory it used, and what memory learned from it. */
export function Inspector({ turnId }: { turnId: string }) {
  const loaded = useLoaded(() => readTurn(turnId), [turnId]);
  const isRunning = loaded.value?.state === "running";
  useEffect(() => {
    if (!isRunning || loaded.isLoading) return undefined;
    const timer = setTimeout(loaded.reload, LOOK_AGAIN_MS);
    return () => clearTimeout(timer);
  }, [isRunning, loaded.isLoading]);
  return (
    <div class="inspector" data-turn={turnId}>
      {loaded.error?.status === 404 ? (
        <p class="quiet">{texts.value.inspector.none}</p>
      ) : (
        <LoadState of={loaded}>{(turn) => <Details turn={turn} />}</LoadState>
      )}
    </div>
  );
}
