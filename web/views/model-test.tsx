import { useState } from "preact/hooks";
import { testModel } from "../api/endpoints.ts";
import type { TestedModel } from "../api/types.ts";
import { showDuration, texts } from "../texts/texts.ts";
import { Button } from "./button.tsx";
import { ErrorNote } from "./error-note.tsx";
import { useAction } from "./loaded.tsx";

const OFFLINE = "offline";

function Outcome({ of: { model, ok, ms, error, check } }: { of: TestedModel }) {
  const t = texts.value.modelTest;
  if (error)
    return (
      <ErrorNote error={error} title={t.failed(model)}>
        {check.length > 0 && (
          <p>
            {t.check} <code>{check.join(", ")}</code>
          </p>
        )}
      </ErrorNote>
    );
  if (model === OFFLINE) return <p class="note warning">{t.offline}</p>;
  return <p class="note success">{ok && t.answers(model, showDuration(ms))}</p>;
}

function Result({ of: { what, ok, ms, note } }: { of: TestedModel["results"][number] }) {
  const t = texts.value.modelTest;
  const state = ok === null ? "" : ok ? "state-up" : "state-down";
  return (
    <tr data-attempt={what}>
      <th scope="row">{t.attempts[what] ?? what}</th>
      <td>
        <span class={`badge ${state}`}>{ok === null ? t.unknown : ok ? t.can : t.cannot}</span>{" "}
        {ms !== null && <span class="quiet small">{showDuration(ms)}</span>}
        {note !== null && (
          <p class="quiet small" dir="auto">
            {note}
          </p>
        )}
      </td>
    </tr>
  );
}

function Results({ of: { results } }: { of: TestedModel }) {
  const t = texts.value.modelTest;
  return (
    <div class="scrolls" role="region" aria-label={t.results} tabIndex={0}>
      <table class="data attempts">
        <thead>
          <tr>
            <th scope="col">{t.attempt}</th>
            <th scope="col">{t.result}</th>
          </tr>
        </thead>
        <tbody>
          {results.map((result) => (
            <Result key={result.what} of={result} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function meaningOf(what: string): string {
  const t = texts.value.modelTest;
  const [, batch] = /^batch_of_(\d+)$/.exec(what) ?? [];
  return batch === undefined ? (t.learned[what] ?? what) : t.batch(batch);
}

function Lessons({ of: { learned } }: { of: TestedModel }) {
  return (
    <section>
      <h3>{texts.value.modelTest.lessons}</h3>
      <ul class="plain-list">
        {learned.map(({ what, words, at }) => (
          <li key={`${what} ${at}`} data-lesson={what}>
            {meaningOf(what)}
            {words !== "" && (
              <p class="quiet small" dir="auto">
                {words}
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

export function ModelTest() {
  const t = texts.value.modelTest;
  const [tested, setTested] = useState<TestedModel | null>(null);
  const { isBusy, run, note } = useAction();
  function test(): Promise<boolean> {
    setTested(null);
    return run(async () => setTested(await testModel()));
  }
  return (
    <div class="stack">
      <div class="actions start">
        <Button onClick={test}>{t.go}</Button>
      </div>
      <div role="status">{isBusy && !tested ? <p class="quiet">{t.asking}</p> : tested && <Outcome of={tested} />}</div>
      {tested && tested.model !== OFFLINE && tested.ok && <Results of={tested} />}
      {tested && tested.learned.length > 0 && <Lessons of={tested} />}
      {note}
    </div>
  );
}
