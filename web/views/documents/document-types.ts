/** Browsers do not know all of them. */
const BY_ENDING: Readonly<Record<string, string>> = {
  txt: "text/plain",
  md: "text/markdown",
  markdown: "text/markdown",
  html: "text/html",
  htm: "text/html",
  csv: "text/csv",
  pdf: "application/pdf",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  odt: "application/vnd.oasis.opendocument.text",
};

/** What a file chooser offers. */
export const ACCEPTED = Object.keys(BY_ENDING)
  .map((ending) => `.${ending}`)
  .join(",");

/** As its name says, else as the browser does. The service looks into it anyway. */
export function typeOf({ name, type }: { name: string; type: string }): string {
  const ending = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  return BY_ENDING[ending] ?? (type || "application/octet-stream");
}
