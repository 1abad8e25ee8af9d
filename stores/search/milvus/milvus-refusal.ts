/** A server that answered, but with a failure. `code` is its number for it. https://milvus.io/docs/error_code.md */
export class MilvusRefusal extends Error {
  override readonly name = "MilvusRefusal";
  readonly code: number | string;

  constructor(code: number | string, reason: string) {
    super(`Milvus answered ${code}: ${reason}`);
    this.code = code;
  }

  /** The collection is there, but released: after a restart of the server, say. */
  get isNotLoaded(): boolean {
    return this.code === 101;
  }

  get isNotFound(): boolean {
    return this.code === 100;
  }

  get isIndexNotFound(): boolean {
    return this.code === 700;
  }
}
