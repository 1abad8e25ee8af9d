import { useState } from "preact/hooks";
import { readPicture, type ShownPicture } from "../../state/thread/message-parts.ts";
import { texts } from "../../texts/texts.ts";
import { useLoaded } from "../loaded.tsx";
import { Modal } from "../modal.tsx";

function OnePicture({ of: { url, width, height }, label }: { of: ShownPicture; label: string }) {
  const t = texts.value.pictures;
  const { value, error } = useLoaded(async () => (url.startsWith("data:") ? url : readPicture(url)), [url]);
  const [isLarge, setIsLarge] = useState(false);
  if (error) return <p class="quiet small">{t.gone}</p>;
  const size = width && height ? { width, height } : {};
  return (
    <>
      <button type="button" class="picture" aria-label={t.open(label)} onClick={() => setIsLarge(true)}>
        <img src={value ?? undefined} alt={label} {...size} />
      </button>
      {isLarge && (
        <Modal title={label} onClose={() => setIsLarge(false)}>
          <img class="large-picture" src={value ?? undefined} alt={label} />
        </Modal>
      )}
    </>
  );
}

/** A picture at an address is a link: the page loads nothing from elsewhere. */
export function MessagePictures({ of }: { of: readonly ShownPicture[] }) {
  const t = texts.value.pictures;
  if (of.length === 0) return null;
  return (
    <div class="message-pictures">
      {of.map((picture, index) => {
        const label = t.picture(index + 1);
        if (/^(?:data:|\/)/.test(picture.url)) return <OnePicture key={index} of={picture} label={label} />;
        return (
          <a key={index} href={picture.url} target="_blank" rel="noreferrer noopener">
            {label}: {picture.url}
          </a>
        );
      })}
    </div>
  );
}
