/** Fields of an assistant message and of its calls (by id) that their server wants back. */
export interface EchoedFields {
  message?: Readonly<Record<string, unknown>>;
  calls?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** `from`: the server and model that sent the fields. Nobody else gets them. */
export interface Echo extends EchoedFields {
  from: string;
}
