// Reads a segment of the journal, written from docs/journal.md alone. Prints a line of JSON with what header
// and footer say, then one for each row: slice, domain, alias. Exit code 1, and why, where a check fails.
import { readFileSync } from "node:fs";
import { brotliDecompressSync } from "node:zlib";

const segment = readFileSync(process.argv[2]);
const name = process.argv[2];

function fail(where, problem) {
  console.error(`${name}: ${where}: ${problem}`);
  process.exit(1);
}

function check(holds, where, problem) {
  if (!holds) fail(where, problem);
}

const crcTable = new Uint32Array(256).map((_, one) => {
  let crc = one;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc;
});

function crc32c(...pieces) {
  let crc = 0xffffffff;
  for (const piece of pieces) for (const one of piece) crc = crcTable[(crc ^ one) & 0xff] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

class Cursor {
  constructor(bytes, where) {
    this.bytes = bytes;
    this.where = where;
    this.at = 0;
  }

  get ended() {
    return this.at === this.bytes.length;
  }

  byte() {
    check(this.at < this.bytes.length, this.where, "ends too soon");
    return this.bytes[this.at++];
  }

  take(length) {
    check(length <= this.bytes.length - this.at, this.where, "ends too soon");
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  varint() {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const one = this.byte();
      value += (one & 0x7f) * 2 ** shift;
      if (one < 0x80) {
        check(value <= 2147483647 && (one !== 0 || shift === 0), this.where, "a number is too long");
        return value;
      }
    }
    return fail(this.where, "a number is too long");
  }
}

function lz4(source, length, where) {
  const input = new Cursor(source, where);
  const output = Buffer.alloc(length);
  let written = 0;
  const more = (nibble) => {
    if (nibble < 15) return nibble;
    for (;;) {
      const one = input.byte();
      nibble += one;
      if (one < 255) return nibble;
    }
  };
  for (;;) {
    const token = input.byte();
    const literals = input.take(more(token >> 4));
    check(literals.length <= length - written, where, "makes too many bytes");
    literals.copy(output, written);
    written += literals.length;
    if (input.ended) {
      check(written === length, where, "makes too few bytes");
      return output;
    }
    const distance = input.byte() + 256 * input.byte();
    const match = 4 + more(token & 15);
    check(distance > 0 && distance <= written && match <= length - written, where, "copies from nowhere");
    for (let i = 0; i < match; i++, written++) output[written] = output[written - distance];
  }
}

const isText = (bytes) => bytes.every((one) => one >= 0x21 && one <= 0x7e);

// The end.
check(segment.length >= 90 + 48, "tail", "too short");
const tail = segment.subarray(-48);
check(tail.toString("latin1", 44) === "GESH", "tail", "no segment ends here");
const footerOffset = Number(tail.readBigInt64LE(0));
check(footerOffset >= 90 && footerOffset <= segment.length - 48, "tail", "the footer is not in the segment");
const footer = segment.subarray(footerOffset);

// The header.
check(segment.toString("latin1", 0, 4) === "HSEG", "header", "no segment begins here");
check(segment.readUInt16LE(4) === 1 && segment.readUInt16LE(6) === 0, "header", "another version");
const headerLength = segment.readUInt32LE(8);
check(headerLength >= 90 && headerLength <= Math.min(16384, footerOffset), "header", "length");
const header = segment.subarray(0, headerLength);
const headerCrc = header.readUInt32LE(headerLength - 4);
check(headerCrc === crc32c(header.subarray(0, -4)), "header", "checksum");
const names = new Cursor(header.subarray(86, -4), "header");
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const [breach, blob, etag] = [80, 82, 84].map((at) => utf8.decode(names.take(header.readUInt16LE(at))));
check(names.ended, "header", "names");
const first = header.readBigInt64LE(64);
const last = header.readBigInt64LE(72);
const sliceRows = header.readInt32LE(32);
check(first >= 1n && last >= first && last - first < 8000000n, "header", "positions");

// The footer.
check(footer.readUInt32LE(footer.length - 8) === crc32c(footer.subarray(0, -8)), "footer", "checksum");
check(tail.readUInt32LE(36) === headerCrc, "footer", "of another header");
const [blockCount, largeCount] = [tail.readInt32LE(8), tail.readInt32LE(12)];
check(tail.readBigInt64LE(16) === last - first + 1n && tail.readBigInt64LE(24) === last, "footer", "positions");
check(blockCount >= 1 && blockCount <= 65536 && blockCount * 32 <= footer.length - 48, "footer", "blocks");
const blocks = [];
let [offset, position] = [headerLength, first];
for (let i = 0; i < blockCount; i++) {
  const entry = footer.subarray(i * 32, i * 32 + 32);
  const block = {
    slice: tail.readInt32LE(32) + i, offset: Number(entry.readBigInt64LE(0)), first: entry.readBigInt64LE(8),
    stored: entry.readInt32LE(16), raw: entry.readInt32LE(20), rows: entry.readInt32LE(24), crc: entry.readUInt32LE(28),
  };
  check(block.offset === offset && block.first === position, `block ${i}`, "place");
  check(block.rows >= 1 && block.rows <= sliceRows, `block ${i}`, "rows");
  check(block.raw >= 1 && block.raw <= 5 + 323 * block.rows && block.stored >= 1 && block.stored <= block.raw, `block ${i}`, "length");
  offset += 40 + block.stored;
  position += BigInt(block.rows);
  blocks.push(block);
}
check(offset === footerOffset && position === last + 1n, "footer", "blocks");
const list = new Cursor(footer.subarray(blockCount * 32, -48), "footer");
const large = {};
let before = Buffer.alloc(0);
for (let i = 0; i < largeCount; i++) {
  const domain = list.take(list.byte());
  check(domain.length >= 4 && isText(domain) && Buffer.compare(before, domain) < 0, "footer", "large domains");
  before = domain;
  large[domain.toString("latin1")] = list.varint();
}
check(list.ended, "footer", "large domains");

const store = header.toString("hex", 40, 56).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
const lines = [JSON.stringify({
  store, load: Number(header.readBigInt64LE(16)), mark: header.readInt32LE(24), breach, blob, etag,
  generation: header.readInt32LE(36), startedAt: new Date(Number(header.readBigInt64LE(56))).toISOString(),
  extractor: header.readInt32LE(12), batchRows: header.readInt32LE(28), sliceRows, first: Number(first), last: Number(last),
  blocks: blockCount, large,
})];

// The blocks.
const counts = new Map();
blocks.forEach((block, number) => {
  const where = `block ${number} at ${block.offset}`;
  const frame = segment.subarray(block.offset, block.offset + 40);
  const stored = segment.subarray(block.offset + 40, block.offset + 40 + block.stored);
  check(frame.toString("latin1", 0, 4) === "ABLK", where, "no block begins here");
  const crc = crc32c(frame.subarray(0, 36), stored);
  check(frame.readUInt32LE(36) === crc && block.crc === crc, where, "checksum");
  check(
    frame.readInt32LE(4) === block.stored && frame.readInt32LE(8) === block.raw && frame.readInt32LE(12) === block.rows
      && frame.readBigInt64LE(16) === block.first && frame.readInt32LE(24) === block.slice,
    where, "frame and footer differ");
  const codec = frame[32];
  check(codec <= 2 && frame[33] === 1 && frame.readUInt16LE(34) === 0, where, "codec or layout");
  check(codec === 0 ? block.stored === block.raw : block.stored < block.raw, where, "length");
  const raw = codec === 0 ? stored : codec === 1 ? lz4(stored, block.raw, where) : brotliDecompressSync(stored);
  check(raw.length === block.raw, where, "length");

  const payload = new Cursor(raw, where);
  const domains = payload.varint();
  check(domains === frame.readInt32LE(28) && domains >= 1 && domains <= block.rows, where, "domains");
  let left = block.rows;
  let domainBefore = Buffer.alloc(0);
  for (let i = 0; i < domains; i++) {
    const domain = payload.take(payload.byte());
    check(domain.length >= 4 && isText(domain) && Buffer.compare(domainBefore, domain) < 0, where, "order of domains");
    domainBefore = domain;
    const rows = payload.varint();
    check(rows >= 1 && rows <= left, where, "rows of a domain");
    left -= rows;
    const text = domain.toString("latin1");
    counts.set(text, (counts.get(text) ?? 0) + rows);
    let aliasBefore = Buffer.alloc(0);
    for (let row = 0; row < rows; row++) {
      const token = payload.byte();
      const prefix = token >> 4 === 15 ? 15 + payload.byte() : token >> 4;
      const suffix = (token & 15) === 15 ? 15 + payload.byte() : token & 15;
      check(prefix <= aliasBefore.length && prefix + suffix >= 1 && prefix + suffix <= 64, where, "length of an alias");
      const beyond = payload.take(suffix);
      check(isText(beyond), where, "characters");
      check(
        prefix === aliasBefore.length || (suffix > 0 && beyond[0] > aliasBefore[prefix]), where, "order of aliases");
      aliasBefore = Buffer.concat([aliasBefore.subarray(0, prefix), beyond]);
      lines.push(`${block.slice}\t${text}\t${aliasBefore.toString("latin1")}`);
    }
  }
  check(left === 0 && payload.ended, where, "something is left");
});
const counted = [...counts].filter(([, rows]) => rows >= 1000);
check(
  counted.length === largeCount && counted.every(([domain, rows]) => large[domain] === rows), "footer", "large domains are others");
process.stdout.write(`${lines.join("\n")}\n`);
