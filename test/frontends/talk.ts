/** What a person can do with a chat of the page, whatever its hook. */
export interface Talk {
  say(text: string): unknown;
  answer(isAllowed: boolean): unknown;
  stop(): unknown;
  again(): unknown;
}
