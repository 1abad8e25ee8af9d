import { type Amendment, AMENDMENTS, OPPOSITES } from "./amendments.ts";

export interface ServedModel {
  /** Its address, without a key or a query. */
  server: string;
  model: string;
}

/** A lesson from a server: an amendment, or the most texts of an embedding request. */
export type Lesson = Amendment | `batch_of_${number}`;

/** `words`: the server's own. */
export interface Learned extends ServedModel {
  what: Lesson;
  words: string;
  at: Date;
}

/** What requests to each server and model need, as refusals have shown. */
export interface Dialects {
  of(served: ServedModel): readonly Learned[];
  learn(served: ServedModel, what: Lesson, words: string): void;
  forget(served: ServedModel, what?: Lesson): void;
}

/** A server may be replaced under its address. Finding out costs one refused request a week. */
const LIFETIME_MS = 7 * 86_400_000;

export interface DialectsParts {
  stored?: readonly Learned[];
  save?: (learned: Learned) => void;
  remove?: (learned: ServedModel & { what: Lesson }) => void;
  now?: () => Date;
}

export const servedKey = ({ server, model }: ServedModel): string => `${server} ${model}`;

export function makeDialects({
  stored = [],
  save = () => undefined,
  remove = () => undefined,
  now = () => new Date(),
}: DialectsParts = {}): Dialects {
  const known = new Map<string, Learned[]>();
  const keep = (learned: Learned): void => {
    const key = servedKey(learned);
    known.set(key, [...(known.get(key) ?? []).filter(({ what }) => what !== learned.what && !isReplaced(what, learned.what)), learned]);
  };
  const isReplaced = (old: Lesson, by: Lesson): boolean =>
    OPPOSITES[by as Amendment] === old || (old.startsWith("batch_of_") && by.startsWith("batch_of_"));
  const isFresh = ({ at }: Learned): boolean => now().getTime() - at.getTime() < LIFETIME_MS;
  stored.filter(({ what }) => isLesson(what)).forEach(keep);

  return {
    of: (served) => (known.get(servedKey(served)) ?? []).filter(isFresh),
    learn(served, what, words) {
      for (const old of known.get(servedKey(served)) ?? []) if (isReplaced(old.what, what)) remove(old);
      const learned = { ...served, what, words, at: now() };
      keep(learned);
      save(learned);
    },
    forget(served, what) {
      const of = known.get(servedKey(served)) ?? [];
      const gone = of.filter((learned) => what === undefined || learned.what === what);
      known.set(
        servedKey(served),
        of.filter((learned) => !gone.includes(learned)),
      );
      gone.forEach(remove);
    },
  };
}

/** Another version may have stored lessons that this one does not know. */
const isLesson = (what: string): what is Lesson => Object.hasOwn(AMENDMENTS, what) || /^batch_of_[1-9]\d*$/.test(what);

/** The told and learnt amendments; a later one replaces its opposite. */
export function amendmentsOf(told: readonly Amendment[], learned: readonly Pick<Learned, "what">[]): Set<Amendment> {
  const all = new Set<Amendment>();
  for (const what of [...told, ...learned.map((one) => one.what)]) {
    if (!Object.hasOwn(AMENDMENTS, what)) continue;
    const opposite = OPPOSITES[what as Amendment];
    if (opposite) all.delete(opposite);
    all.add(what as Amendment);
  }
  return all;
}

/** The most texts of one embedding request; undefined: nobody has refused more. */
export function learnedBatch(learned: readonly Pick<Learned, "what">[]): number | undefined {
  const batch = learned.map(({ what }) => /^batch_of_(\d+)$/.exec(what)?.[1]).findLast((one) => one !== undefined);
  return batch === undefined ? undefined : Number(batch);
}
