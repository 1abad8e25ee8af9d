/** A version of a section, and whether it came from what is erased. */
export interface TaughtVersion {
  version: number;
  content: string | null;
  taught: boolean;
}

/** A version that stays, as it would be had what is erased not been said. */
export interface KeptVersion {
  version: number;
  content: string | null;
  /** Content of the version before it, as it would be. */
  before: string | null;
  /** A version that is erased came before it. */
  isAfterErased: boolean;
}

export const linesOf = (content: string | null): string[] => (content ?? "").split("\n").filter((line) => line.trim() !== "");
/** What two writings of one fact have in common: blanks, line ends and list marks differ from editor to editor. */
export const factOf = (line: string): string =>
  line
    .replace(/^\s*[-*•]\s+/u, "")
    .replace(/\s+/gu, " ")
    .trim();

function sameFacts(one: ReadonlySet<string>, other: ReadonlySet<string>): boolean {
  return one.size === other.size && [...one].every((fact) => other.has(fact));
}

/**
 * The versions of one section that stay, oldest first. Each is what its author did, the lines added and taken away, done to what there would
 * have been: so what is erased had brought in is gone, what it had taken away is back, and what others wrote anew is theirs.
 */
export function unlearnVersions(versions: readonly TaughtVersion[]): KeptVersion[] {
  const kept: KeptVersion[] = [];
  let content: string | null = null; // as it would be
  let facts = new Set<string>();
  let seen = new Set<string>(); // as it was
  let isAfterErased = false;
  for (const { version, content: written, taught } of versions) {
    const lines = linesOf(written);
    const now = new Set(lines.map(factOf));
    if (taught) isAfterErased = true;
    else {
      const before = content;
      if (sameFacts(facts, seen)) content = written;
      else if (written === null) content = null;
      else {
        const [had, wasThere] = [facts, seen];
        const back: string[] = linesOf(content).filter((line) => !now.has(factOf(line)) && !wasThere.has(factOf(line)));
        const left = lines.filter((line) => had.has(factOf(line)) || !wasThere.has(factOf(line)));
        // Empty, not null: nobody removed it.
        content = [...back, ...left].join("\n");
      }
      facts = new Set(linesOf(content).map(factOf));
      kept.push({ version, content, before, isAfterErased });
    }
    seen = now;
  }
  return kept;
}
