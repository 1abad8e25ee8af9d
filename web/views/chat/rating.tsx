import { useState } from "preact/hooks";
import { rateMessage, removeRating } from "../../api/endpoints.ts";
import type { Rating } from "../../api/types.ts";
import { texts } from "../../texts/texts.ts";
import { submitting, useAction } from "../loaded.tsx";
import { SignButton } from "../sign-button.tsx";

const MAX_COMMENT = 2_000;

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
  const button = (chosen: 1 | -1, label: string) => (
    <SignButton sign="thumb" isTurned={chosen === -1} label={label} isPressed={value === chosen} onClick={() => choose(chosen)} />
  );
  return (
    <>
      {button(1, t.good)}
      {button(-1, t.bad)}
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
