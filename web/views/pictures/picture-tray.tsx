import { useRef } from "preact/hooks";
import { type ChosenPictures, PICTURE_TYPES, type PictureLimits, pictureLimits } from "../../state/thread/chosen-pictures.ts";
import { showNumber, texts } from "../../texts/texts.ts";
import { SignPicture } from "../sign-button.tsx";

const MIB = 1024 * 1024;
const sizes = ({ max_count: count, max_bytes: each, max_total_bytes: together }: PictureLimits) => {
  return { count: String(count), each: `${showNumber(each / MIB)} MiB`, together: `${showNumber(together / MIB)} MiB` };
};
const NOTHING = { count: "0", each: "", together: "" };
const inWords = (limits: PictureLimits): string => texts.value.pictures.limits(sizes(limits));

/** The chosen pictures, each with a button to remove it, and why a file was refused. */
export function PictureTray({ of }: { of: ChosenPictures }) {
  const t = texts.value.pictures;
  const limits = pictureLimits.value;
  const refused = of.refused.value;
  return (
    <>
      {of.chosen.value.length > 0 && (
        <ul class="picture-tray" aria-label={t.chosen}>
          {of.chosen.value.map(({ id, name, url }) => (
            <li key={id}>
              <img src={url} alt={name} />
              <button type="button" class="icon" aria-label={t.remove(name)} title={t.remove(name)} onClick={() => of.remove(id)}>
                <span aria-hidden="true">✕</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      {limits && of.chosen.value.length > 0 && <p class="quiet small">{inWords(limits)}</p>}
      {refused && (
        <p class="note error" role="alert" dir="auto">
          {t.refused[refused.why](refused.name, limits ? sizes(limits) : NOTHING)}
        </p>
      )}
    </>
  );
}

export function ChoosePictures({ of }: { of: ChosenPictures }) {
  const t = texts.value.pictures;
  const input = useRef<HTMLInputElement>(null);
  const limits = pictureLimits.value;
  if (limits?.max_count === 0) return null;
  return (
    <>
      <button
        type="button"
        class="icon"
        aria-label={t.add}
        title={limits ? `${t.add}: ${inWords(limits)}` : t.add}
        onClick={() => input.current?.click()}
      >
        <SignPicture of="picture" />
      </button>
      <input
        ref={input}
        type="file"
        hidden
        accept={PICTURE_TYPES.join(",")}
        multiple
        onChange={({ currentTarget }) => {
          void of.add([...(currentTarget.files ?? [])]);
          currentTarget.value = ""; // the same file may be chosen again
        }}
      />
    </>
  );
}
