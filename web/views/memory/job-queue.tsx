import { useEffect, useState } from "preact/hooks";
import { toApiError, type ApiError } from "../../api/api-error.ts";
import { listJobs, retryJobs } from "../../api/endpoints.ts";
import { conversations, conversationsLoaded, loadConversations } from "../../state/conversations.ts";
import { conversationId } from "../../state/thread.ts";
import { showTime, texts } from "../../texts/texts.ts";
import { ErrorNote } from "../error-note.tsx";
import { LoadState } from "../load-state.tsx";
import { useLoaded } from "../use-loaded.ts";

function JobsOf({ conversation }: { conversation: string }) {
  const t = texts.value;
  const loaded = useLoaded(() => listJobs(conversation), [conversation]);
  const [retried, setRetried] = useState<number | null>(null);
  const [error, setError] = useState<ApiError | null>(null);

  async function retry(): Promise<void> {
    setError(null);
    try {
      setRetried((await retryJobs({ conversation_id: conversation })).retried);
      loaded.reload();
    } catch (thrown) {
      setError(toApiError(thrown));
    }
  }

  return (
    <LoadState of={loaded}>
      {({ jobs }) => (
        <>
          {jobs.length === 0 && <p class="quiet">{t.memory.jobs.none}</p>}
          <ul class="cards">
            {jobs.map(({ id, kind, state, attempts, error: failure, created_at }) => (
              <li key={id} class="card">
                <p class="card-head">
                  <strong>{t.jobs.kinds[kind] ?? kind}</strong>
                  <span class={`badge job-${state}`}>{t.jobs.states[state] ?? state}</span>
                  <span class="quiet small">
                    {t.memory.jobs.attempts(attempts)} · {t.memory.jobs.since} {showTime(created_at)}
                  </span>
                </p>
                {failure !== null && <ErrorNote error={failure} />}
              </li>
            ))}
          </ul>
          {error && <ErrorNote error={error} />}
          {retried !== null && <p role="status">{t.memory.jobs.retried(retried)}</p>}
          <div class="actions start">
            <button type="button" onClick={loaded.reload}>
              {t.refresh}
            </button>
            {jobs.some(({ state }) => state === "dead") && (
              <button type="button" class="primary" onClick={() => void retry()}>
                {t.memory.jobs.retry}
              </button>
            )}
          </div>
        </>
      )}
    </LoadState>
  );
}

/** The background work of one conversation. */
export function JobQueue({ owner }: { owner: string }) {
  const t = texts.value;
  const [chosen, setChosen] = useState<string | null>(conversationId.value);
  const shown = chosen ?? conversations.value[0]?.id ?? null;
  useEffect(() => {
    if (!conversationsLoaded.value) void loadConversations();
  }, [owner]);
  if (shown === null) return <p class="quiet">{t.conversations.none}</p>;
  return (
    <>
      <label class="field">
        <span>{t.memory.jobs.choose}</span>
        <select value={shown} onChange={({ currentTarget }) => setChosen(currentTarget.value)}>
          {conversations.value.map(({ id, first_message, session_id }) => (
            <option key={id} value={id}>
              {first_message ?? session_id}
            </option>
          ))}
        </select>
      </label>
      <JobsOf key={shown} conversation={shown} />
    </>
  );
}
