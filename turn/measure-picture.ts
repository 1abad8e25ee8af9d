import { z } from "zod";

export const PICTURE_TYPES = ["image/png", "image/jpeg", "image/webp", "image/gif"] as const;
export const PictureType = z.enum(PICTURE_TYPES);
export type PictureType = z.infer<typeof PictureType>;

/** Width and height in pixels as stored; EXIF rotation is ignored. */
export interface MeasuredPicture {
  mediaType: PictureType;
  width: number;
  height: number;
}

interface Size {
  width: number;
  height: number;
}

const ascii = (bytes: Buffer, start: number, end: number): string => bytes.toString("latin1", start, end);
const uint24 = (bytes: Buffer, at: number): number => bytes.readUIntLE(at, 3);

/** https://www.w3.org/TR/png-3/#11IHDR */
function measurePng(bytes: Buffer): Size | null {
  if (ascii(bytes, 0, 8) !== "\x89PNG\r\n\x1a\n" || ascii(bytes, 12, 16) !== "IHDR") return null;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function measureGif(bytes: Buffer): Size | null {
  if (!/^GIF8[79]a$/.test(ascii(bytes, 0, 6))) return null;
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
}

/** https://developers.google.com/speed/webp/docs/riff_container */
function measureWebp(bytes: Buffer): Size | null {
  if (ascii(bytes, 0, 4) !== "RIFF" || ascii(bytes, 8, 12) !== "WEBP") return null;
  const kind = ascii(bytes, 12, 16);
  if (kind === "VP8X") return { width: uint24(bytes, 24) + 1, height: uint24(bytes, 27) + 1 };
  if (kind === "VP8L") {
    const packed = bytes.readUInt32LE(21);
    return bytes[20] === 0x2f ? { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 } : null;
  }
  if (kind !== "VP8 " || uint24(bytes, 23) !== 0x2a019d) return null;
  return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
}

/** The markers of JPEG that begin a frame: C0 to CF but DHT, JPG and DAC. */
const isFrame = (marker: number): boolean => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
/** Markers without a length. */
const isBare = (marker: number): boolean => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);

/** Goes from segment to segment to the frame, which has the size. */
function measureJpeg(bytes: Buffer): Size | null {
  if (bytes.readUInt16BE(0) !== 0xffd8) return null;
  for (let at = 2; at + 9 <= bytes.length;) {
    const marker = bytes[at + 1] ?? 0;
    if (bytes[at] !== 0xff) return null;
    if (marker === 0xff)
      at += 1; // a filler byte
    else if (isFrame(marker)) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    else if (marker === 0xd9 || marker === 0xda)
      return null; // the end, or no frame
    else at += isBare(marker) ? 2 : 2 + Math.max(2, bytes.readUInt16BE(at + 2));
  }
  return null;
}

/** Each with the length of the header it reads. */
const READERS = [
  ["image/png", 24, measurePng],
  ["image/jpeg", 12, measureJpeg],
  ["image/webp", 30, measureWebp],
  ["image/gif", 10, measureGif],
] as const satisfies readonly (readonly [PictureType, number, (bytes: Buffer) => Size | null])[];

const LONGEST_SIDE = 65_535;
const isPossible = (pixels: number): boolean => pixels > 0 && pixels <= LONGEST_SIDE;

/** The type and size from a picture's bytes; null for other types and cut-off headers. */
export function measurePicture(bytes: Buffer): MeasuredPicture | null {
  for (const [mediaType, headerBytes, measure] of READERS) {
    const size = bytes.length < headerBytes ? null : measure(bytes);
    if (size && isPossible(size.width) && isPossible(size.height)) return { mediaType, ...size };
  }
  return null;
}
