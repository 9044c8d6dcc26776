// Prints what the API is to answer for ranges of a list of hashes: {"path","length","sha256"}, one a line, the digest being that of the
// text. It shares no code with the product.
// usage: node expected-ranges.mjs PLAN.json
// plan: {"mode","file","prefixes":["0012A",...]}; file: lines HASH:COUNT in any order and either case, ended by LF or CRLF.
import { createHash } from 'node:crypto';
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';

const plan = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const suffixDigits = (plan.mode === 'ntlm' ? 32 : 40) - 5;
const ranges = new Array(1 << 20);
for (const prefix of plan.prefixes)
  ranges[parseInt(prefix, 16)] = new Map();

// The value of five hex digits, without making a string of them: most lines are of other prefixes.
const digits = new Uint8Array(256).fill(0xff);
for (let i = 0; i < 16; i++)
  digits['0123456789ABCDEF'.charCodeAt(i)] = digits['0123456789abcdef'.charCodeAt(i)] = i;

let lines = 0;
function add(bytes, from, to) {
  if (bytes[to - 1] === 13)
    to--;
  if (to === from)
    return;
  lines++;
  let prefix = 0;
  for (let i = from; i < from + 5; i++)
    prefix = prefix * 16 + digits[bytes[i]];
  const range = ranges[prefix];
  if (range === undefined)
    return;
  const [hash, count] = bytes.latin1Slice(from + 5, to).split(':');
  if (hash.length !== suffixDigits)
    throw new Error(`line ${lines} is malformed`);
  const suffix = hash.toUpperCase();
  const sum = (range.get(suffix) ?? 0) + Number(count);
  if (!Number.isSafeInteger(sum))
    throw new Error(`the counts of line ${lines} are too large for this script`);
  range.set(suffix, sum);
}

const file = openSync(plan.file, 'r');
const buffer = Buffer.alloc(4 << 20);
let kept = 0;
for (let read; (read = readSync(file, buffer, kept, buffer.length - kept, null)) > 0; ) {
  const length = kept + read;
  let from = 0;
  for (let end; (end = buffer.indexOf(10, from)) >= 0 && end < length; from = end + 1)
    add(buffer, from, end);
  kept = buffer.copy(buffer, 0, from, length);
}
add(buffer, 0, kept);
closeSync(file);

for (const prefix of plan.prefixes) {
  const rows = [...ranges[parseInt(prefix, 16)]].filter(([, count]) => count > 0);
  rows.sort(([left], [right]) => (left < right ? -1 : 1));
  const text = rows.length === 0 ? '0'.repeat(suffixDigits) + ':0' : rows.map(([suffix, count]) => `${suffix}:${count}`).join('\r\n');
  process.stdout.write(JSON.stringify({
    path: `/range/${prefix}${plan.mode === 'ntlm' ? '?mode=ntlm' : ''}`,
    length: text.length,
    sha256: createHash('sha256').update(text).digest('hex'),
  }) + '\n');
}
process.stderr.write(`${plan.mode}: ${lines} lines\n`);
