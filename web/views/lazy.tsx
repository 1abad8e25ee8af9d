import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { texts } from "../texts/texts.ts";
import { Button } from "./button.tsx";

/** A component whose script is loaded when it is first shown. */
export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  return function Lazy(props: Props) {
    const [Shown, setShown] = useState<ComponentType<Props> | null>(() => loaded);
    const [isLost, setIsLost] = useState(false);
    useEffect(() => {
      if (loaded) return;
      load().then(
        (component) => setShown(() => (loaded = component)),
        () => setIsLost(true),
      );
    }, []);
    if (Shown) return <Shown {...props} />;
    if (!isLost)
      return (
        <p class="quiet loading" role="status">
          {texts.value.loading}
        </p>
      );
    // Offline, or the service has a newer page.
    return (
      <div class="note error" role="alert">
        <p>{texts.value.partMissing}</p>
        <Button onClick={() => location.reload()}>{texts.value.reload}</Button>
      </div>
    );
  };
}
