import { useState } from "preact/hooks";
import { rateMessage, removeRating } from "../../api/endpoints.ts";
import type { Rating } from "../../api/types.ts";
import { texts } from "../../texts/texts.ts";
import { submitting, useAction } from "../loaded.tsx";

const MAX_COMMENT = 2_000;

/** Good or bad; why it is bad may be said. */
export function RatingButtons({ messageId, given }: { messageId: string; given: Rating | null }) {
  const t = texts.value.rating;
  const [value, setValue] = useState(given?.value ?? null);
  const [comment, setComment] = useState<string | null>(null);
  const { run, note } = useAction();

  const choose = (chosen: 1 | -1) =>
    run(async () => {
      const isTakenBack = value === chosen;
      await (isTakenBack ? removeRating(messageId) : rateMessage(messageId, { value: chosen, comment: null }));
      setValue(isTakenBack ? null : chosen);
      setComment(!isTakenBack && chosen === -1 ? "" : null);
    });
  const explain = () =>
    run(async () => {
      await rateMessage(messageId, { value: -1, comment: comment?.trim() || null });
      setComment(null);
    });
  const button = (chosen: 1 | -1, label: string, sign: string) => (
    <button
      type="button"
      class="quiet-button rate"
      aria-pressed={value === chosen}
      aria-label={label}
      title={label}
      onClick={() => void choose(chosen)}
    >
      <svg viewBox="0 0 24 24" aria-hidden="true" data-sign={sign}>
        <path d="M7 11v9H4v-9zm0 0 4-8a2.5 2.5 0 0 1 2.5 2.5V9H19a2 2 0 0 1 2 2.3l-1.2 7A2 2 0 0 1 17.8 20H7" />
      </svg>
    </button>
  );
  return (
    <>
      {button(1, t.good, "up")}
      {button(-1, t.bad, "down")}
      {comment !== null && (
        <form class="rate-why" onSubmit={submitting(explain)}>
          <input
            type="text"
            dir="auto"
            aria-label={t.why}
            placeholder={t.why}
            maxLength={MAX_COMMENT}
            value={comment}
            onInput={({ currentTarget }) => setComment(currentTarget.value)}
          />
          <button type="submit">{t.send}</button>
        </form>
      )}
      {note}
    </>
  );
}
