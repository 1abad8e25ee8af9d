export const API = "/api/v1";
export const part = encodeURIComponent;
export const user = (userId: string): string => `${API}/users/${part(userId)}`;
export const section = (userId: string, name: string): string => `${user(userId)}/core-memory/${part(name)}`;
export const query = (fields: Record<string, string | number | null | undefined>): string => {
  const given = Object.entries(fields).flatMap(([name, value]) => (value === null || value === undefined ? [] : [[name, String(value)]]));
  return given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`;
};
/** Headers of a write that replaces only this version; 0: none exists yet. */
export const over = (version: number): Record<string, string> =>
  version === 0 ? { "if-none-match": "*" } : { "if-match": `"${version}"` };
