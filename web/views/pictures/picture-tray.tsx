import { useRef } from "preact/hooks";
import { type ChosenPictures, PICTURE_TYPES } from "../../state/chosen-pictures.ts";
import { texts } from "../../texts/texts.ts";
import { SignPicture } from "../sign-button.tsx";

/** The pictures that the next message will show, each with a button that takes it out, and why a file was not taken. */
export function PictureTray({ of }: { of: ChosenPictures }) {
  const t = texts.value.pictures;
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
      {refused && (
        <p class="note error" role="alert" dir="auto">
          {t.refused[refused.why](refused.name)}
        </p>
      )}
    </>
  );
}

/** Chooses pictures from the device. */
export function ChoosePictures({ of }: { of: ChosenPictures }) {
  const t = texts.value.pictures;
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" class="icon" aria-label={t.add} title={`${t.add}: ${t.limits}`} onClick={() => input.current?.click()}>
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
