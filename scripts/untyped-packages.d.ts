declare module "spdx-satisfies" {
  /** Whether a licence expression allows what is given under one of these licences. Throws when it is no SPDX expression. */
  export default function satisfies(expression: string, licences: readonly string[]): boolean;
}

declare module "pdfjs-dist/legacy/build/pdf.worker.mjs" {
  export const WorkerMessageHandler: unknown;
}
