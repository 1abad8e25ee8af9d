/** Far below what the JSON writers of Node and Postgres can nest. */
export const MAX_LEVELS = 100;

/** Whether objects and lists are nested more than `levels` deep. */
export function isTooDeep(value: unknown, levels = MAX_LEVELS): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isTooDeep(inner, levels - 1));
}
