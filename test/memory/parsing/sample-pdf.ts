/** How a PDF of a test is made, by hand: from the page's operators to the trailer. */
export interface PdfOptions {
  /** What /Count says, true or not. */
  claimedPages?: number;
  /** How often the one page is in the list of pages. */
  repeatedPages?: number;
  /** The object of the font /F1. */
  font?: string;
  /** More objects, from number 6. */
  more?: readonly string[];
  /** More entries of the trailer, and of each page's content stream. */
  trailer?: string;
  stream?: string;
}

const HELVETICA = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>";

/** A PDF of one page with these operators, such as "BT /F1 18 Tf 20 100 Td (words) Tj ET". Latin-1 throughout. */
export function samplePdf(operators: string | Buffer, options: PdfOptions = {}): Buffer {
  const { repeatedPages = 1, claimedPages = repeatedPages, font = HELVETICA, more = [], trailer = "", stream = "" } = options;
  const content = Buffer.from(operators as string, "latin1");
  const objects = [
    "<</Type/Catalog/Pages 2 0 R>>",
    `<</Type/Pages/Kids[${"3 0 R ".repeat(repeatedPages)}]/Count ${claimedPages}>>`,
    "<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Resources<</Font<</F1 5 0 R>>>>/Contents 4 0 R>>",
    `<</Length ${content.length}${stream}>>stream\n${content.toString("latin1")}\nendstream`,
    font,
    ...more,
  ];
  let file = "%PDF-1.4\n";
  const offsets: number[] = [];
  for (const [index, object] of objects.entries()) {
    offsets.push(file.length);
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
  }
  const table = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const size = objects.length + 1;
  const end = `xref\n0 ${size}\n0000000000 65535 f \n${table}trailer\n<</Root 1 0 R/Size ${size}${trailer}>>\nstartxref\n${file.length}\n%%EOF`;
  return Buffer.from(file + end, "latin1");
}

/** One line of Helvetica. */
export const pdfOf = (text: string, options?: PdfOptions): Buffer => samplePdf(`BT /F1 18 Tf 20 100 Td (${text}) Tj ET`, options);

/** Lines of Chinese in a font that is not in the file, as Acrobat makes them: UTF-16 codes under a character map that the reader must know. */
export function chinesePdf(lines: readonly string[]): Buffer {
  const hex = (line: string): string => Buffer.from(line, "utf16le").swap16().toString("hex");
  const shown = lines.map((line) => `<${hex(line)}> Tj 0 -20 Td`).join(" ");
  return samplePdf(`BT /F1 12 Tf 20 150 Td ${shown} ET`, {
    font: "<</Type/Font/Subtype/Type0/BaseFont/STSong-Light/Encoding/UniGB-UCS2-H/DescendantFonts[6 0 R]>>",
    more: [
      "<</Type/Font/Subtype/CIDFontType0/BaseFont/STSong-Light/CIDSystemInfo<</Registry(Adobe)/Ordering(GB1)/Supplement 2>>/FontDescriptor 7 0 R>>",
      "<</Type/FontDescriptor/FontName/STSong-Light/Flags 6/FontBBox[-25 -254 1000 880]/ItalicAngle 0/Ascent 880/Descent -120/CapHeight 880/StemV 93>>",
    ],
  });
}

/** Says that it is encrypted, with a key that no empty password opens. */
export const encryptedPdf = (): Buffer =>
  pdfOf("secret", {
    more: [`<</Filter/Standard/V 1/R 2/Length 40/P -4/O<${"41".repeat(32)}>/U<${"42".repeat(32)}>>>`],
    trailer: `/Encrypt 6 0 R/ID[<${"43".repeat(16)}><${"43".repeat(16)}>]`,
  });
