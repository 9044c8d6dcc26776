// Counts the records of the access log in a folder of its blobs' bytes (docs/access-log.md), each (instance, counter) once. It shares
// no code with the product.
// usage: node access-records.mjs FOLDER
// prints {"distinct","repeated","counts":{"ROUTE STATUS":n},"notWhole":[file]}; exit code 1 if a file is damaged before its end
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const HEADER = 40;
const RECORD = 32;
const [ROUTES, RECORDS, END] = [1, 2, 3];

const table = new Uint32Array(256).map((_, byte) => {
  for (let bit = 0; bit < 8; bit++)
    byte = byte & 1 ? (byte >>> 1) ^ 0x82f63b78 : byte >>> 1; // CRC-32C, reflected
  return byte;
});
function crc32c(...parts) {
  let crc = 0xffffffff;
  for (const part of parts)
    for (let i = 0; i < part.length; i++)
      crc = table[(crc ^ part[i]) & 255] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

// For each instance: one bit for each number seen, in pages of 64 Ki numbers.
const seenOf = new Map();
function isNew(instance, number) {
  if (!seenOf.has(instance))
    seenOf.set(instance, new Map());
  const pages = seenOf.get(instance);
  const page = Math.floor(number / 65536);
  if (!pages.has(page))
    pages.set(page, new Uint8Array(65536));
  const bits = pages.get(page);
  if (bits[number % 65536])
    return false;
  bits[number % 65536] = 1;
  return true;
}

const result = { distinct: 0, repeated: 0, counts: {}, notWhole: [] };
for (const file of readdirSync(process.argv[2]).sort()) {
  const blob = readFileSync(join(process.argv[2], file));
  let routes = null;
  let ended = false;
  let at = 0;
  for (; !ended && at + HEADER <= blob.length;) {
    if (blob.toString('latin1', at, at + 4) !== 'HAC1')
      throw new Error(`${file}: no frame at ${at}`);
    const kind = blob.readUInt32LE(at + 4);
    const length = blob.readInt32LE(at + 8);
    if (at + HEADER + length > blob.length)
      break;
    const header = blob.subarray(at, at + HEADER);
    const content = blob.subarray(at + HEADER, at + HEADER + length);
    if (crc32c(header.subarray(0, 12), header.subarray(16), content) !== header.readUInt32LE(12))
      throw new Error(`${file}: the checksum at ${at} is wrong`);
    const first = Number(header.readBigUInt64LE(16));
    const instance = header.toString('hex', 24, 40);
    at += HEADER + length;
    if (kind === ROUTES) {
      routes = [];
      for (let i = 2; i < length;) {
        const bytes = content.readUInt16LE(i);
        routes.push(content.toString('utf8', i + 2, i + 2 + bytes));
        i += 2 + bytes;
      }
      if (routes.length !== content.readUInt16LE(0))
        throw new Error(`${file}: ${routes.length} routes`);
    } else if (kind === RECORDS) {
      if (length % RECORD !== 0)
        throw new Error(`${file}: a frame of ${length} bytes`);
      for (let i = 0; i < length / RECORD; i++) {
        if (!isNew(instance, first + i)) {
          result.repeated++;
          continue;
        }
        const what = `${routes[content.readUInt16LE(i * RECORD + 24)]} ${content.readUInt16LE(i * RECORD + 26)}`;
        result.counts[what] = (result.counts[what] ?? 0) + 1;
        result.distinct++;
      }
    } else if (kind === END) {
      ended = true;
    } else {
      throw new Error(`${file}: a frame of kind ${kind}`);
    }
  }
  if (!ended)
    result.notWhole.push(file);
  else if (at !== blob.length)
    throw new Error(`${file}: ${blob.length - at} bytes behind its end`);
}
console.log(JSON.stringify(result));
