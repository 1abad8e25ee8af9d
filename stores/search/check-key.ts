const OWNER_KEY = /^[A-Za-z0-9_-]{43}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

function refuse(kind: string, value: string): never {
  throw new TypeError(`"${value.slice(0, 80)}" is no ${kind}: nothing that a caller wrote may become part of a filter.`);
}

/** The same key, when it is one of owner-key.ts. Throws TypeError otherwise. */
export function checkOwnerKey(key: string): string {
  return OWNER_KEY.test(key) ? key : refuse("owner key", key);
}

/** The same id, when it is a UUID in small letters: the stores compare ids as text or as numbers. Throws TypeError otherwise. */
export function checkUuid(id: string): string {
  return UUID.test(id) ? id : refuse("UUID in small letters", id);
}

/** The same moment, when it is one. Throws TypeError otherwise. */
export function checkMoment(moment: Date): Date {
  if (Number.isSafeInteger(moment.getTime())) return moment;
  throw new TypeError("A moment of a filter is no valid date.");
}
