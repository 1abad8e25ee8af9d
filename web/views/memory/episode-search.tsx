import { useState } from "preact/hooks";
import { forgetEpisode, searchEpisodes } from "../../api/view-endpoints.ts";
import type { Episode, EraseAnswer } from "../../api/types.ts";
import { chatAddress } from "../../state/page/route.ts";
import { showNumber, showTime, texts } from "../../texts/texts.ts";
import { QuietButton } from "../button.tsx";
import { Confirm } from "../confirm.tsx";
import { submitting, useAction } from "../loaded.tsx";
import { Receipt } from "../receipt.tsx";

function EpisodeCard({ episode, onForget }: { episode: Episode; onForget: () => void }) {
  const t = texts.value;
  const { episode_type: type } = episode;
  return (
    <li class="card">
      {episode.user_message && (
        <p class="excerpt role-user" dir="auto">
          {episode.user_message}
        </p>
      )}
      {episode.assistant_message && (
        <p class="excerpt role-assistant" dir="auto">
          {episode.assistant_message}
        </p>
      )}
      <p class="card-foot">
        <span class="quiet small">
          {t.memory.episodes.types[type] ?? type} · {t.memory.episodes.importance} {showNumber(episode.importance, 2)} ·{" "}
          {showTime(episode.created_at)}
        </span>
        <span class="actions">
          <a class="quiet-button" href={chatAddress(episode.conversation_id, episode.message_ids[0])}>
            {t.inspector.jump}
          </a>
          <QuietButton onClick={onForget}>{t.memory.episodes.forget}</QuietButton>
        </span>
      </p>
    </li>
  );
}

export function EpisodeSearch({ owner }: { owner: string }) {
  const t = texts.value.memory.episodes;
  const [question, setQuestion] = useState("");
  const [found, setFound] = useState<{ episodes: Episode[]; degraded: string[] } | null>(null);
  const { run, note } = useAction();
  const [forgetting, setForgetting] = useState<Episode | null>(null);
  const [receipt, setReceipt] = useState<EraseAnswer | null>(null);

  async function search(): Promise<void> {
    if (!(await run(() => searchEpisodes(owner, question).then(setFound)))) setFound(null);
  }

  async function forget({ id }: Episode): Promise<void> {
    setReceipt(await forgetEpisode(owner, id));
    setForgetting(null);
    await search();
  }

  return (
    <>
      <form class="search" role="search" onSubmit={submitting(search)}>
        <input
          type="search"
          dir="auto"
          required
          aria-label={t.label}
          placeholder={t.label}
          value={question}
          onInput={({ currentTarget }) => setQuestion(currentTarget.value)}
        />
        <button type="submit" class="primary">
          {t.go}
        </button>
      </form>
      {note}
      {receipt && <Receipt receipt={receipt} />}
      {found && found.degraded.length > 0 && <p class="note warning">{t.degraded}</p>}
      {found?.episodes.length === 0 && found.degraded.length === 0 && (
        <p class="quiet" role="status">
          {t.none}
        </p>
      )}
      <ol class="cards">
        {found?.episodes.map((episode) => (
          <EpisodeCard key={episode.id} episode={episode} onForget={() => setForgetting(episode)} />
        ))}
      </ol>
      {forgetting && (
        <Confirm title={t.forget} go={t.forget} action={() => forget(forgetting)} onClose={() => setForgetting(null)}>
          {t.forgetAsk}
        </Confirm>
      )}
    </>
  );
}
