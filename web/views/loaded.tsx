import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import { toApiError, type ApiError } from "../api/api-error.ts";
import { texts } from "../texts/texts.ts";
import { Button } from "./button.tsx";
import { ErrorNote } from "./error-note.tsx";

/** `value` stays while it is reloaded. */
export interface Loaded<Value> {
  value: Value | null;
  error: ApiError | null;
  isLoading: boolean;
  reload: () => void;
}

/** Reads when the component appears and whenever one of `inputs` changes. */
export function useLoaded<Value>(read: () => Promise<Value>, inputs: readonly unknown[]): Loaded<Value> {
  const [state, setState] = useState<Omit<Loaded<Value>, "reload">>({ value: null, error: null, isLoading: true });
  const [round, setRound] = useState(0);
  useEffect(() => {
    let isWanted = true;
    setState((before) => ({ ...before, isLoading: true }));
    read().then(
      (value) => isWanted && setState({ value, error: null, isLoading: false }),
      (error: unknown) => isWanted && setState({ value: null, error: toApiError(error), isLoading: false }),
    );
    return () => void (isWanted = false);
  }, [...inputs, round]);
  return { ...state, reload: useCallback(() => setRound((before) => before + 1), []) };
}

export function LoadState<Value>({ of, children }: { of: Loaded<Value>; children: (value: Value) => ComponentChildren }) {
  if (of.error) return <RetryNote error={of.error} onRetry={of.reload} />;
  if (of.value === null) return <p class="quiet">{texts.value.loading}</p>;
  return <>{children(of.value)}</>;
}

export function RetryNote({ error, onRetry }: { error: ApiError; onRetry: () => void }) {
  return (
    <ErrorNote error={error}>
      <Button onClick={onRetry}>{texts.value.retry}</Button>
    </ErrorNote>
  );
}

/** Runs actions that may fail. `note` shows why the last one did; `run` resolves with whether it succeeded. */
export function useAction() {
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setIsBusy] = useState(false);
  async function run(action: () => Promise<void>): Promise<boolean> {
    setIsBusy(true);
    setError(null);
    try {
      await action();
      return true;
    } catch (thrown) {
      setError(toApiError(thrown));
      return false;
    } finally {
      setIsBusy(false);
    }
  }
  return { isBusy, run, note: error && <ErrorNote error={error} /> };
}

/** Handles the submission of a form here instead of in the browser. */
export const submitting =
  (action: () => unknown) =>
  (event: Event): void => {
    event.preventDefault();
    void action();
  };
