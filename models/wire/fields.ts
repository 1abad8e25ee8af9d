/** A server's JSON object of unknown content. */
export type Fields = Record<string, unknown>;

export const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);

export const isSomething = (value: unknown): boolean =>
  value !== null && value !== undefined && value !== "" && !(Array.isArray(value) && value.length === 0);
