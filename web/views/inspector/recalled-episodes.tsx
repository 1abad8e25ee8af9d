import { readMessage } from "../../api/endpoints.ts";
import type { Receipt } from "../../api/types.ts";
import { closePanel } from "../../state/page/side-panel.ts";
import { chatAddress, goTo } from "../../state/page/route.ts";
import { isNarrow } from "../../state/page/settings.ts";
import { showTime, texts } from "../../texts/texts.ts";
import { QuietButton } from "../button.tsx";
import { LoadState, useLoaded } from "../loaded.tsx";

type ReceiptEpisode = Receipt["episodes"][number];

function Recalled({ episode, place }: { episode: ReceiptEpisode; place: number }) {
  const t = texts.value.inspector;
  const loaded = useLoaded(() => Promise.all(episode.message_ids.map(readMessage)), [episode.id]);
  const first = loaded.value?.[0];
  function jump(): void {
    if (isNarrow.value) closePanel();
    goTo(chatAddress(episode.conversation_id, first?.message.id));
  }
  if (loaded.error?.status === 404) return <p class="quiet">{t.gone}</p>;
  return (
    <LoadState of={loaded}>
      {(messages) => (
        <>
          {messages.map(({ message }) => (
            <p key={message.id} class={`excerpt role-${message.role}`} dir="auto">
              {message.content}
            </p>
          ))}
          <p class="card-foot">
            <span class="quiet small">
              {t.rank(place)}
              {first && ` · ${showTime(first.message.created_at)}`}
            </span>
            <QuietButton onClick={jump}>{t.jump}</QuietButton>
          </p>
        </>
      )}
    </LoadState>
  );
}

export function RecalledEpisodes({ episodes, isAway }: { episodes: readonly ReceiptEpisode[]; isAway: boolean }) {
  const t = texts.value.inspector;
  return (
    <section>
      <h3>{t.episodes}</h3>
      {episodes.length === 0 && <p class="quiet">{isAway ? t.unavailable : t.noEpisodes}</p>}
      <ol class="cards">
        {episodes.map((episode, index) => (
          <li key={episode.id} class="card">
            <Recalled episode={episode} place={index + 1} />
          </li>
        ))}
      </ol>
    </section>
  );
}
