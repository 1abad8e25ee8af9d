/** What a person can do with a chat of the page, whatever its hook. */
export interface Talk {
  say(text: string, modes?: string[]): unknown;
  answer(isAllowed: boolean): unknown;
  stop(): unknown;
  again(): unknown;
  /** Asks the question at this place of the list in other words. */
  edit?(place: number, text: string): unknown;
  /** Shows the next branch at this place. */
  turn?(place: number): unknown;
}
