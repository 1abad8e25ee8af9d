import { deflateSync, crc32 } from "node:zlib";
import { dataUrl, type Picture, readPicture } from "../../../turn/picture.ts";

function chunk(type: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), content]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

/** A picture that browsers draw: all of one grey, with a note in it. `padding` makes it so many bytes longer. */
export function png(width: number, height: number, { grey = 128, padding = 0, note = "x".repeat(padding) } = {}): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.writeUInt8(8, 8); // bits of a pixel, which is grey
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(width, grey)]);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(Buffer.concat(Array.from({ length: height }, () => row)))),
    ...(note === "" ? [] : [chunk("tEXt", Buffer.from(note))]),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

export const pngUrl = (...size: Parameters<typeof png>): string => dataUrl("image/png", png(...size));

/** With a frame header of this size, and no more. */
export function jpegHeader(width: number, height: number): Buffer {
  const frame = Buffer.from([
    0xff,
    0xc2,
    0x00,
    0x11,
    0x08,
    height >> 8,
    height & 0xff,
    width >> 8,
    width & 0xff,
    3,
    1,
    0x22,
    0,
    2,
    0x11,
    1,
    3,
  ]);
  const comment = Buffer.from([0xff, 0xfe, 0x00, 0x04, 0xff, 0xc0]); // what looks like a frame is none
  return Buffer.concat([Buffer.from([0xff, 0xd8]), comment, Buffer.from([0xff]), frame]);
}

export const GIF = Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64");
export const WEBP_LOSSY = Buffer.from("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA", "base64");
export const WEBP_LOSSLESS = Buffer.from("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==", "base64");

/** Throws for an address that is refused. */
export function pictureAt(url: string): Picture {
  const read = readPicture(url);
  if ("problem" in read) throw new Error(read.problem);
  return read;
}

export const samplePicture = (grey = 128): Picture => pictureAt(pngUrl(3, 2, { grey }));

export const pictureWithNote = (note: string): Picture => pictureAt(pngUrl(3, 2, { note }));
export const linkedPicture = (): Picture => pictureAt("https://example.org/cat.png");
