import { useEffect, useState } from "preact/hooks";
import { listJobs, retryJobs } from "../../api/view-endpoints.ts";
import { conversations, conversationsLoaded, loadConversations } from "../../state/conversations/conversations.ts";
import { conversationId } from "../../state/thread/thread.ts";
import { showTime, texts } from "../../texts/texts.ts";
import { Button, PrimaryButton } from "../button.tsx";
import { ErrorNote } from "../error-note.tsx";
import { LoadState, useAction, useLoaded } from "../loaded.tsx";

function JobsOf({ conversation }: { conversation: string }) {
  const t = texts.value;
  const loaded = useLoaded(() => listJobs(conversation), [conversation]);
  const [retried, setRetried] = useState<number | null>(null);
  const { run, note } = useAction();

  async function retry(): Promise<void> {
    setRetried((await retryJobs({ conversation_id: conversation })).retried);
    loaded.reload();
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
          {note}
          {retried !== null && <p role="status">{t.memory.jobs.retried(retried)}</p>}
          <div class="actions start">
            <Button onClick={loaded.reload}>{t.refresh}</Button>
            {jobs.some(({ state }) => state === "dead") && <PrimaryButton onClick={() => run(retry)}>{t.memory.jobs.retry}</PrimaryButton>}
          </div>
        </>
      )}
    </LoadState>
  );
}

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
          {conversations.value.map(({ id, title, session_id }) => (
            <option key={id} value={id}>
              {title ?? session_id}
            </option>
          ))}
        </select>
      </label>
      <JobsOf key={shown} conversation={shown} />
    </>
  );
}
