import { useCallback, useEffect, useState } from "preact/hooks";
import { toApiError, type ApiError } from "../api/api-error.ts";

/** Something that is read from the service: `value` stays while it is read anew. */
export interface Loaded<Value> {
  value: Value | null;
  error: ApiError | null;
  isLoading: boolean;
  reload: () => void;
}

/** Reads when the component appears and whenever one of `inputs` changes; an answer that comes too late is thrown away. */
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
