import { useEffect, useRef } from "preact/hooks";

interface ViewLinksProps<Name extends string> {
  label: string;
  class: string;
  names: readonly Name[];
  addressOf: (name: Name) => string;
  titleOf: (name: Name) => string;
  shown: Name;
}

/** Links to views. On a phone they can be wider than the screen: the shown one is scrolled into view. */
export function ViewLinks<Name extends string>({ label, class: look, names, addressOf, titleOf, shown }: ViewLinksProps<Name>) {
  const links = useRef<HTMLElement>(null);
  useEffect(() => links.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [shown]);
  return (
    <nav class={look} aria-label={label} ref={links}>
      {names.map((name) => (
        <a key={name} href={addressOf(name)} aria-current={name === shown ? "page" : undefined} dir="auto">
          {titleOf(name)}
        </a>
      ))}
    </nav>
  );
}
