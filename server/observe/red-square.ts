import { crc32, deflateSync } from "node:zlib";
import { dataUrl, type Picture } from "../../turn/picture.ts";

/** Some models refuse a picture of fewer than 28 pixels. */
const SIDE = 64;
const RED = [220, 20, 20];
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Big-endian. */
function inFourBytes(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function chunk(type: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), content]);
  return Buffer.concat([inFourBytes(content.length), named, inFourBytes(crc32(named))]);
}

/** A red square as a PNG: https://www.w3.org/TR/png-3/ */
export function redSquare(): Picture {
  const header = Buffer.concat([inFourBytes(SIDE), inFourBytes(SIDE), Buffer.from([8, 2, 0, 0, 0])]); // 8 bits for each of red, green and blue
  const row = [0, ...Array.from({ length: SIDE }, () => RED).flat()]; // 0: its bytes are as they are
  const pixels = deflateSync(Buffer.from(Array.from({ length: SIDE }, () => row).flat()));
  const bytes = Buffer.concat([SIGNATURE, chunk("IHDR", header), chunk("IDAT", pixels), chunk("IEND", Buffer.alloc(0))]);
  return { url: dataUrl("image/png", bytes), detail: null, file: null };
}
