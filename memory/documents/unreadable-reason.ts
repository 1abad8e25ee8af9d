/** Thrown while a document is parsed, in the worker, when what is wrong is known; parseDocument makes the AppError of it. */
export class UnreadableReason extends Error {
  override readonly name = "UnreadableReason";
}
