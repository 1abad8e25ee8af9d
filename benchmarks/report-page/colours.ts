/** Ten colours that can be told apart on white and on black, also by those who see fewer. */
const COLOURS = ["#3b7dd8", "#d9762b", "#3a9a5b", "#c2476b", "#8a63c9", "#9a7b1f", "#2a9fa8", "#a85a3c", "#6b7a8f", "#b04fb8"];

export const colourOf = (place: number): string => COLOURS[place % COLOURS.length] ?? "#888";

/** The colour of text and of lines as the styles say it now. */
export function inkOf(element: Element): { text: string; line: string } {
  const styles = getComputedStyle(element);
  return { text: styles.getPropertyValue("--text").trim(), line: styles.getPropertyValue("--line").trim() };
}
