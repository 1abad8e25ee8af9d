type Close = () => unknown;

/** What the service and its commands use of AsyncDisposableStack, for Node 22, which has none. */
class Stack implements AsyncDisposable {
  #closes: Close[] = [];

  defer(close: Close): void {
    this.#closes.push(close);
  }

  move(): Stack {
    const moved = new Stack();
    moved.#closes = this.#closes.splice(0);
    return moved;
  }

  /** Closes all, the last first, also when one of them throws; then throws the last error. */
  async disposeAsync(): Promise<void> {
    const errors: unknown[] = [];
    for (const close of this.#closes.splice(0).reverse()) {
      try {
        await close();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors.at(-1);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.disposeAsync();
  }
}

/** Stands in the bundle for the global of that name. */
const chosen = (globalThis as { AsyncDisposableStack?: typeof AsyncDisposableStack }).AsyncDisposableStack ?? Stack;
export { chosen as AsyncDisposableStack };
