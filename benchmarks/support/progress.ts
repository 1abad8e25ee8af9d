/** How a bench tells where it is. Each bench is given one; what it prints otherwise goes to standard output. */
export interface Progress {
  /** It is at `done` of `total` of what `name` says ("round", "conversations loaded", …); without a total, it is at `name` and nobody knows for how long. */
  step(name: string, done?: number, total?: number): void;
}
