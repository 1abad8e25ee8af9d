export function LinkedText({ text }: { text: string }) {
  return (
    <>
      {text.split(/(https?:\/\/\S+)/).map((part, index) =>
        index % 2 === 0 ? (
          part
        ) : (
          <a key={index} href={part} target="_blank" rel="noreferrer noopener">
            {part}
          </a>
        ),
      )}
    </>
  );
}
