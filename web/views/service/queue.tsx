import { readJobs, retryJobs } from "../../api/view-endpoints.ts";
import type { JobsAnswer, Status } from "../../api/types.ts";
import { showNumber, showTime, texts } from "../../texts/texts.ts";
import { Button } from "../button.tsx";
import { ErrorNote } from "../error-note.tsx";
import { useAction, useLoaded } from "../loaded.tsx";

function Counts({ jobs }: { jobs: NonNullable<Status["jobs"]> }) {
  const t = texts.value;
  return (
    <table class="data">
      <thead>
        <tr>
          <th scope="col">{t.service.kind}</th>
          <th scope="col">{t.service.state}</th>
          <th scope="col">{t.service.count}</th>
        </tr>
      </thead>
      <tbody>
        {jobs.map(({ kind, state, count }) => (
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
  );
}

function DeadJobs({ dead, onRetry }: { dead: JobsAnswer["dead"]; onRetry: (kind?: string) => unknown }) {
  const t = texts.value;
  return (
    <>
      <h3>{t.service.dead}</h3>
      <ul class="cards">
        {dead.map(({ id, kind, user_id: user, attempts, error, died_at }) => (
          <li key={id} class="card" data-job={kind}>
            <p class="card-head">
              <strong>{t.jobs.kinds[kind] ?? kind}</strong>
              <span class="quiet small" dir="auto">
                {[user, t.memory.jobs.attempts(attempts), showTime(died_at)].filter(Boolean).join(" · ")}
              </span>
            </p>
            <ErrorNote error={error}>
              <Button onClick={() => onRetry(kind)}>{t.service.retryKind(t.jobs.kinds[kind] ?? kind)}</Button>
            </ErrorNote>
          </li>
        ))}
      </ul>
      <div class="actions start">
        <Button onClick={() => onRetry()}>{t.memory.jobs.retry}</Button>
      </div>
    </>
  );
}

export function Queue({ jobs, onRetried }: { jobs: Status["jobs"]; onRetried: () => void }) {
  const t = texts.value;
  const hasDead = jobs?.some(({ state, count }) => state === "dead" && count > 0) ?? false;
  const { value, reload } = useLoaded(() => (hasDead ? readJobs() : Promise.resolve(null)), [hasDead]);
  const { run, note } = useAction();
  const retry = (kind?: string) =>
    run(async () => {
      await retryJobs(kind === undefined ? {} : { kind });
      reload();
      onRetried();
    });
  if (jobs === null) return <p class="quiet">{t.service.jobsUnknown}</p>;
  const waiting = jobs.filter(({ count }) => count > 0);
  return (
    <>
      {waiting.length === 0 ? <p class="quiet">{t.service.noJobs}</p> : <Counts jobs={waiting} />}
      {note}
      {hasDead && value && value.dead.length > 0 && <DeadJobs dead={value.dead} onRetry={retry} />}
    </>
  );
}
