import type { ComponentChildren } from "preact";

export interface ButtonProps {
  onClick: () => unknown;
  children: ComponentChildren;
}

export function Button({ onClick, children }: ButtonProps) {
  return (
    <button type="button" onClick={() => void onClick()}>
      {children}
    </button>
  );
}

export function QuietButton({ onClick, children }: ButtonProps) {
  return (
    <button type="button" class="quiet-button" onClick={() => void onClick()}>
      {children}
    </button>
  );
}

export function PrimaryButton({ onClick, children }: ButtonProps) {
  return (
    <button type="button" class="primary" onClick={() => void onClick()}>
      {children}
    </button>
  );
}

export function IconButton({ label, sign = "✕", onClick }: { label: string; sign?: string; onClick: () => void }) {
  return (
    <button type="button" class="icon" aria-label={label} title={label} onClick={onClick}>
      <span aria-hidden="true">{sign}</span>
    </button>
  );
}
