/** Fields of an assistant message and of its calls, by the calls' ids, which their server wants back with them. */
export interface EchoedFields {
  message?: Readonly<Record<string, unknown>>;
  calls?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** `from`: the server and model that sent them. Nobody else gets them. */
export interface Echo extends EchoedFields {
  from: string;
}
