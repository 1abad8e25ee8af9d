import { useEffect } from "preact/hooks";
import { readStatus, retryJobs } from "../../api/endpoints.ts";
import type { Layer, Status } from "../../api/types.ts";
import { showDuration, showNumber, texts } from "../../texts/texts.ts";
import { Button } from "../button.tsx";
import { LoadState, useAction, useLoaded } from "../loaded.tsx";
import { LatencyPlot } from "./latency-plot.tsx";

const LOOK_AGAIN_MS = 5_000;

function quantile(numbers: readonly number[], share: number): number | null {
  const inOrder = numbers.toSorted((one, other) => one - other);
  return inOrder[Math.min(inOrder.length - 1, Math.ceil(share * inOrder.length) - 1)] ?? null;
}

function Figure({ title, numbers }: { title: string; numbers: readonly number[] }) {
  const t = texts.value.service;
  const [median, slowest] = [quantile(numbers, 0.5), quantile(numbers, 0.95)];
  return (
    <div class="figure">
      <p class="quiet small">{title}</p>
      <p>
        <strong>{median === null ? "–" : showDuration(median)}</strong> <span class="quiet small">{t.median}</span>
      </p>
      <p class="quiet small">
        {t.slowest} {slowest === null ? "–" : showDuration(slowest)}
      </p>
    </div>
  );
}

function Latency({ turns }: { turns: Status["turns"] }) {
  const t = texts.value.service;
  if (turns.length === 0) return <p class="quiet">{t.noTurns}</p>;
  const failed = turns.filter(({ code }) => code !== null).length;
  const withoutLayer = turns.filter(({ degraded }) => degraded.length > 0).length;
  return (
    <>
      <div class="figures">
        <Figure title={t.firstToken} numbers={turns.flatMap(({ first_token_ms: ms }) => (ms === null ? [] : [ms]))} />
        <Figure title={t.total} numbers={turns.flatMap(({ total_ms: ms }) => (ms === null ? [] : [ms]))} />
      </div>
      <LatencyPlot turns={turns} />
      {failed > 0 && <p class="note error">{t.failedTurns(failed, turns.length)}</p>}
      {withoutLayer > 0 && <p class="note warning">{t.degradedTurns(withoutLayer, turns.length)}</p>}
    </>
  );
}

function Queue({ jobs, onRetry }: { jobs: Status["jobs"]; onRetry: () => unknown }) {
  const t = texts.value;
  if (jobs === null) return <p class="quiet">{t.service.jobsUnknown}</p>;
  const waiting = jobs.filter(({ count }) => count > 0);
  if (waiting.length === 0) return <p class="quiet">{t.service.noJobs}</p>;
  return (
    <>
      <table class="data">
        <thead>
          <tr>
            <th scope="col">{t.service.kind}</th>
            <th scope="col">{t.service.state}</th>
            <th scope="col">{t.service.count}</th>
          </tr>
        </thead>
        <tbody>
          {waiting.map(({ kind, state, count }) => (
            <tr key={`${kind}/${state}`}>
              <td>{t.jobs.kinds[kind] ?? kind}</td>
              <td>
                <span class={`badge job-${state}`}>{t.jobs.states[state] ?? state}</span>
              </td>
              <td>{showNumber(count)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {waiting.some(({ state }) => state === "dead") && <Button onClick={onRetry}>{t.memory.jobs.retry}</Button>}
    </>
  );
}

function States({ status: { dependencies, layers, models, unfit_models } }: { status: Status }) {
  const t = texts.value;
  const unfit = new Set(unfit_models.map(({ purpose }) => purpose));
  return (
    <div class="state-grid">
      <section class="card">
        <h2>{t.service.dependencies}</h2>
        <ul class="states">
          {Object.entries(dependencies).map(([name, state]) => (
            <li key={name}>
              <span>{name}</span>
              <span class={`badge state-${state}`}>{t.service[state]}</span>
            </li>
          ))}
        </ul>
      </section>
      <section class="card">
        <h2>{t.service.layers}</h2>
        <ul class="states">
          {(Object.entries(layers) as [Layer, "on" | "off"][]).map(([name, state]) => (
            <li key={name}>
              <span>{t.layers[name]}</span>
              <span class={`badge state-${state}`}>{t.service[state]}</span>
            </li>
          ))}
        </ul>
        <p class="quiet small" dir="auto">
          {t.service.model}: {models.chat}
          {models.embedder !== null && (
            <>
              <br />
              {t.service.embedder}: {models.embedder}
            </>
          )}
        </p>
        {unfit.has("summary") && <p class="note warning">{t.service.unfitSummary}</p>}
        {unfit.has("memory") && <p class="note warning">{t.service.unfitMemory}</p>}
      </section>
    </div>
  );
}

/** The state of the service: dependencies, latencies, jobs. */
export function ServiceView() {
  const t = texts.value.service;
  const loaded = useLoaded(readStatus, []);
  const { run, note } = useAction();
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && loaded.reload(), LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  const retry = () => run(() => retryJobs({}).then(loaded.reload));
  return (
    <div class="page-view" tabIndex={0} role="region" aria-label={t.title}>
      <div class="page-inner">
        <h1>{t.title}</h1>
        {note}
        <LoadState of={loaded}>
          {(status) => (
            <>
              <States status={status} />
              <section class="card">
                <h2>{t.latency}</h2>
                <Latency turns={status.turns} />
              </section>
              <section class="card">
                <h2>{t.queue}</h2>
                <Queue jobs={status.jobs} onRetry={retry} />
              </section>
            </>
          )}
        </LoadState>
      </div>
    </div>
  );
}
