import { ownerKey } from "../../../stores/index-keys.ts";
import type { IndexDefinition, SearchDocument, SearchHit } from "../../../stores/search/contract/search-index.ts";

export const DIMENSIONS = 8;
export const [ANNA, BEN] = [ownerKey("acme", "anna"), ownerKey("acme", "ben")];

export const definitionOf = (name: string): IndexDefinition => {
  return { name, dimensions: DIMENSIONS, attributes: { note: "text", weight: "number" }, type: "note" };
};

export const idsOf = (hits: readonly SearchHit[]): string[] => hits.map(({ id }) => id);

export const sampleId = (number: number): string => `00000000-0000-4000-8000-${number.toString(16).padStart(12, "0")}`;

/** A vector of length 1 along one axis. */
export function direction(axis: number): number[] {
  return Array.from({ length: DIMENSIONS }, (_, position) => (position === axis % DIMENSIONS ? 1 : 0));
}

export function sampleDocument(number: number, given: Partial<SearchDocument> & Pick<SearchDocument, "ownerKey">): SearchDocument {
  return {
    id: sampleId(number),
    groupId: sampleId(900),
    previousId: null,
    createdAt: new Date(Date.UTC(2024, 0, 1) + number * 60_000),
    lexicalText: `sample w${number}`,
    embedding: direction(number),
    attributes: { note: `note ${number}`, weight: number / 10 },
    ...given,
  };
}
