// Prints the distinct accounts of a zip, sorted, one a line: an expectation that shares no code with the pipeline.
// usage: node extract-accounts.mjs FILE.zip
// It reads the zip by its central directory (stored and deflated entries, no Zip64, no encryption) and each entry as a whole.
import { readFileSync } from 'node:fs';
import { inflateRawSync } from 'node:zlib';

const list = new URL('../../../src/HibpIngest.Core/Accounts/tlds-alpha-by-domain.txt', import.meta.url);
const topLevelDomains = new Set(readFileSync(list, 'ascii').toLowerCase().split('\n').filter(line => line && !line.startsWith('#')));

function* entriesOf(zip) {
  const end = zip.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
  if (end < 0)
    throw new Error('not a zip: no end of central directory');
  const count = zip.readUInt16LE(end + 10);
  let at = zip.readUInt32LE(end + 16);
  for (let i = 0; i < count; i++) {
    if (zip.readUInt32LE(at) !== 0x02014b50)
      throw new Error('not a zip: the central directory is cut off');
    const method = zip.readUInt16LE(at + 10);
    const size = zip.readUInt32LE(at + 20);
    const header = zip.readUInt32LE(at + 42);
    if (size === 0xffffffff || header === 0xffffffff)
      throw new Error('Zip64 is beyond this script');
    const start = header + 30 + zip.readUInt16LE(header + 26) + zip.readUInt16LE(header + 28);
    const data = zip.subarray(start, start + size);
    if (method !== 0 && method !== 8)
      throw new Error(`compression method ${method} is beyond this script`);
    yield method === 8 ? inflateRawSync(data) : data;
    at += 46 + zip.readUInt16LE(at + 28) + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
}

// One character a byte, or a UTF-16 code unit: whatever isn't ASCII separates.
function textOf(bytes) {
  if (bytes[0] === 0xff && bytes[1] === 0xfe)
    return bytes.toString('utf16le');
  if (bytes[0] === 0xfe && bytes[1] === 0xff)
    return Buffer.from(bytes.subarray(0, bytes.length & ~1)).swap16().toString('utf16le');
  return bytes.toString('latin1');
}

function isAccount(alias, domain) {
  if (alias.length < 1 || alias.length > 64 || /^\.|\.\.|\.$/.test(alias))
    return false;
  if (domain.length < 4 || domain.length > 255 || alias.length + 1 + domain.length > 255)
    return false;
  const labels = domain.split('.');
  if (labels.length < 2 || !labels.every(label => /^(?!-)[a-z0-9-]{1,63}(?<!-)$/.test(label)))
    return false;
  return topLevelDomains.has(labels.at(-1));
}

const accounts = new Set();
for (const bytes of entriesOf(readFileSync(process.argv[2]))) {
  const text = textOf(bytes);
  const candidate = /([A-Za-z0-9.\-+_]+)@([A-Za-z0-9.\-]{3,})/g;
  for (let match; (match = candidate.exec(text)) !== null;) {
    let alias = match[1].toLowerCase();
    if (match.index > 0 && text[match.index - 1] === '\\' && /^[trn]/.test(match[1]))
      alias = alias.slice(1);
    if (alias === '') {
      candidate.lastIndex = match.index + match[1].length + 1;
      continue;
    }
    const domain = match[2].toLowerCase();
    if (isAccount(alias, domain))
      accounts.add(`${alias}@${domain}`);
  }
}
process.stdout.write([...accounts].sort().map(account => account + '\n').join(''));
