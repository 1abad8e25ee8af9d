const WRITE_LOST = "write lost";

/** A server that answered, but with a failure. `code` is its number for it. https://milvus.io/docs/error_code.md */
export class MilvusRefusal extends Error {
  override readonly name = "MilvusRefusal";
  readonly code: number | string;

  constructor(code: number | string, reason: string) {
    super(`Milvus answered ${code}: ${reason}`);
    this.code = code;
  }

  /** For a server that took documents and does not have them. */
  static writeLost(collection: string, missing: number): MilvusRefusal {
    return new MilvusRefusal(WRITE_LOST, `${missing} of the documents written to ${collection} are not there`);
  }

  get isWriteLost(): boolean {
    return this.code === WRITE_LOST;
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
