import { useEffect, useRef } from "preact/hooks";

interface ViewLinksProps<Name extends string> {
  label: string;
  class: string;
  /** What each link leads to, by name. */
  addresses: Record<Name, string>;
  titles: Record<Name, string>;
  shown: Name;
}

/** Links to views, of which one is shown. On a phone they can be wider than the screen: the shown one is scrolled into view. */
export function ViewLinks<Name extends string>({ label, class: look, addresses, titles, shown }: ViewLinksProps<Name>) {
  const links = useRef<HTMLElement>(null);
  useEffect(() => links.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [shown]);
  return (
    <nav class={look} aria-label={label} ref={links}>
      {(Object.keys(addresses) as Name[]).map((name) => (
        <a key={name} href={addresses[name]} aria-current={name === shown ? "page" : undefined} dir="auto">
          {titles[name]}
        </a>
      ))}
    </nav>
  );
}
