// Reads the tables of a layout whole, and compares them, account by account and hash by hash, with what its breaches' zips hold. It
// shares no code with the product: accounts are extracted and hashed here, and the service is asked over bare HTTP.
// usage: node compare-layout.mjs PLAN.json
// plan: {"connections","accounts","ranges","extract","breaches":[{"zip","mark"}]}; connections: of the layout's storage accounts;
// accounts, ranges: names of its tables; extract: the script that lists a zip's accounts. Other marks than these count for nothing.
import { createHash, createHmac } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const plan = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const known = new Set(plan.breaches.map(breach => breach.mark));

async function* entities(connection, table) {
  const settings = Object.fromEntries(connection.split(';').filter(Boolean).map(pair => {
    const at = pair.indexOf('=');
    return [pair.slice(0, at), pair.slice(at + 1)];
  }));
  const endpoint = new URL(settings.TableEndpoint);
  for (let next = ''; next !== null;) {
    const date = new Date().toUTCString();
    const resource = `/${settings.AccountName}${endpoint.pathname}/${table}()`;
    const signature = createHmac('sha256', Buffer.from(settings.AccountKey, 'base64')).update(`${date}\n${resource}`).digest('base64');
    const answer = await fetch(`${settings.TableEndpoint}/${table}()?${next}`, { headers: {
      'x-ms-date': date, 'x-ms-version': '2019-02-02', 'Accept': 'application/json;odata=nometadata',
      'Authorization': `SharedKeyLite ${settings.AccountName}:${signature}` } });
    if (answer.status !== 200)
      throw new Error(`${table}: ${answer.status} ${await answer.text()}`);
    yield* (await answer.json()).value;
    const [partition, row] = ['NextPartitionKey', 'NextRowKey'].map(name => answer.headers.get(`x-ms-continuation-${name}`));
    next = partition === null ? null
      : `NextPartitionKey=${encodeURIComponent(partition)}${row === null ? '' : `&NextRowKey=${encodeURIComponent(row)}`}`;
  }
}

async function read(table, keyOf) {
  const marksOf = new Map();
  for (const connection of plan.connections)
    for await (const entity of entities(connection, table)) {
      const marks = Object.keys(entity).filter(name => /^b\d+$/.test(name)).map(name => +name.slice(1)).filter(mark => known.has(mark));
      const key = keyOf(entity.PartitionKey.split('!')[0], entity.RowKey.split('!')[0]);
      if (marks.length > 0)
        marksOf.set(key, [...marksOf.get(key) ?? [], ...marks]);
    }
  return marksOf;
}

const expected = new Map();
for (const { zip, mark } of plan.breaches) {
  const lines = execFileSync(process.execPath, [plan.extract, zip], { maxBuffer: 1 << 30, encoding: 'latin1' });
  for (const account of lines.split('\n').filter(Boolean))
    expected.set(account, [...expected.get(account) ?? [], mark]);
}
const hashes = new Map([...expected].map(([account, marks]) => [createHash('sha1').update(account).digest('hex').toUpperCase(), marks]));

function differences(wanted, found) {
  const shown = marks => (marks ?? []).sort((one, other) => one - other).join(' ');
  let count = 0;
  for (const key of new Set([...wanted.keys(), ...found.keys()]))
    if (shown(wanted.get(key)) !== shown(found.get(key)))
      count++;
  return count;
}

const accounts = differences(expected, await read(plan.accounts, (domain, alias) => `${alias}@${domain}`));
const ranges = differences(hashes, await read(plan.ranges, (partition, row) => partition + row));
console.log(JSON.stringify({ accounts: expected.size, accountsDiffer: accounts, rangesDiffer: ranges }));
