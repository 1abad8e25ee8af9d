/** In UTF-16 units: what is split without letting others have a turn, some milliseconds. */
const STRETCH = 20_000;

/** A long text in stretches, cut at a paragraph, a line or a blank if there is one, and never within a surrogate pair. */
export function* textStretches(text: string): Generator<string> {
  let start = 0;
  while (text.length - start > STRETCH) {
    const length = cutOf(text.slice(start, start + STRETCH));
    yield text.slice(start, start + length);
    start += length;
  }
  yield text.slice(start);
}

function cutOf(stretch: string): number {
  for (const boundary of ["\n\n", "\n"]) {
    const at = stretch.lastIndexOf(boundary);
    if (at > STRETCH / 2) return at + boundary.length;
  }
  const blank = stretch.search(/\s\S*$/);
  if (blank > 0) return blank + 1;
  const last = stretch.charCodeAt(stretch.length - 1);
  const splitsPair = last >= 0xd800 && last <= 0xdbff;
  return splitsPair ? stretch.length - 1 : stretch.length;
}
