/** Drawn in 24 by 24. */
const SIGNS = {
  thumb: "M7 11v9H4v-9zm0 0 4-8a2.5 2.5 0 0 1 2.5 2.5V9H19a2 2 0 0 1 2 2.3l-1.2 7A2 2 0 0 1 17.8 20H7",
  again: "M20 11a8 8 0 1 0-2.3 6.2M20 4v7h-7",
  pencil: "m4 20 1-4.5L16 4.5 19.5 8 8.5 19zm9.5-13L17 10.5",
  branches: "M6 3v18M6 15c0-5 12-2 12-9m-3 3 3-3 3 3",
  fork: "M6 3v9a4 4 0 0 0 4 4h9m-4-4 4 4-4 4M14 6h5",
  picture: "M4 5h16v14H4zm0 11 5-5 4 4 2-2 5 5M16 9h.01",
};
export type Sign = keyof typeof SIGNS;

export function SignPicture({ of, isTurned = false }: { of: Sign; isTurned?: boolean }) {
  return (
    <svg class={`sign${isTurned ? " turned" : ""}`} viewBox="0 0 24 24" aria-hidden="true">
      <path d={SIGNS[of]} />
    </svg>
  );
}

interface SignButtonProps {
  sign: Sign;
  isTurned?: boolean;
  label: string;
  isPressed?: boolean;
  onClick: () => unknown;
}

export function SignButton({ sign, isTurned = false, label, isPressed, onClick }: SignButtonProps) {
  return (
    <button type="button" class="quiet-button" aria-pressed={isPressed} aria-label={label} title={label} onClick={() => void onClick()}>
      <SignPicture of={sign} isTurned={isTurned} />
    </button>
  );
}
