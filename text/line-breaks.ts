/** Ends a line wherever text is read: of Windows and old Macs, of Unicode, of forms and printers. */
export const LINE_BREAK = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/u;

export const splitLines = (text: string): string[] => text.split(LINE_BREAK);
