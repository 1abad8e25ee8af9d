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

/** Asks the service's model for a word, and says what came of it. */
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
      {note}
    </div>
  );
}
