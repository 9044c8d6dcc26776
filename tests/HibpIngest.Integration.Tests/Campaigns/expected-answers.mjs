// Draws accounts and prefixes of hashes, and prints what the API is to answer to each: {"path","status","body"}, one a line. It
// shares no code with the product: accounts are extracted and hashed here, and what is shown is what the plan says.
// usage: node expected-answers.mjs PLAN.json
// plan: {"seed","accounts","prefixes","extract","breaches":[{"name","zip","shown"}]}; extract: the script that lists a zip's accounts.
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const plan = JSON.parse(readFileSync(process.argv[2], 'utf8'));

// mulberry32: the same seed draws the same.
let state = plan.seed >>> 0;
function random(below) {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = state;
  t = Math.imul(t ^ (t >>> 15), t | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) % below;
}

// Which breaches each account is in, a bit each.
const breachesOf = new Map();
plan.breaches.forEach((breach, bit) => {
  const lines = execFileSync(process.execPath, [plan.extract, breach.zip], { maxBuffer: 1 << 30, encoding: 'latin1' });
  for (const account of lines.split('\n'))
    if (account !== '')
      breachesOf.set(account, (breachesOf.get(account) ?? 0) | (1 << bit));
});
const shownOf = bits => plan.breaches.filter((breach, bit) => breach.shown && bits & (1 << bit)).map(breach => breach.name).sort();
const hashOf = account => createHash('sha1').update(account).digest('hex').toUpperCase();

const groups = new Map();
for (const [account, bits] of breachesOf) {
  const group = groups.get(bits);
  if (group)
    group.push(account);
  else
    groups.set(bits, [account]);
}

// As many of each group as of any other, as long as there are; the rest from the largest.
function draw(count) {
  const drawn = [];
  const each = Math.ceil(count / groups.size);
  for (const group of [...groups.values()].sort((left, right) => left.length - right.length)) {
    const from = [...group];
    for (let i = 0; i < each && from.length > 0 && drawn.length < count; i++)
      drawn.push(from.splice(random(from.length), 1)[0]);
  }
  const largest = [...groups.values()].sort((left, right) => right.length - left.length)[0];
  const known = new Set(drawn);
  while (drawn.length < count && known.size < breachesOf.size) {
    const account = largest[random(largest.length)];
    if (!known.has(account)) {
      known.add(account);
      drawn.push(account);
    }
  }
  return drawn;
}

// A tenth is in none: an alias nobody has at a domain that others have, or a domain of nobody.
const none = Math.floor(plan.accounts / 10);
const accounts = draw(plan.accounts - none);
const all = [...breachesOf.keys()];
while (accounts.length < plan.accounts) {
  const domain = accounts.length % 2 ? all[random(all.length)].split('@')[1] : `nobody-${random(1 << 30)}.com`;
  const account = `nobody.${random(1 << 30)}@${domain}`;
  if (!breachesOf.has(account))
    accounts.push(account);
}

const write = [account => account, account => account.toUpperCase(), encodeURIComponent, account => encodeURIComponent(` ${account} `)];
const lines = [];
accounts.forEach((account, i) => {
  const names = shownOf(breachesOf.get(account) ?? 0);
  lines.push({
    path: `/api/v3/breachedaccount/${write[i % write.length](account)}`,
    status: names.length > 0 ? 200 : 404,
    body: names.length > 0 ? JSON.stringify(names.map(Name => ({ Name }))) : '{"statusCode":404,"message":"Not found"}',
  });
});

const byPrefix = new Map();
for (const account of draw(plan.prefixes - Math.floor(plan.prefixes / 10)))
  byPrefix.set(hashOf(account).slice(0, 6), []);
while (byPrefix.size < plan.prefixes)
  byPrefix.set(random(1 << 24).toString(16).toUpperCase().padStart(6, '0'), []);
for (const [account, bits] of breachesOf) {
  const hash = hashOf(account);
  const found = byPrefix.get(hash.slice(0, 6));
  const websites = shownOf(bits);
  if (found && websites.length > 0)
    found.push({ hashSuffix: hash.slice(6), websites });
}
let place = 0;
for (const [prefix, found] of byPrefix) {
  found.sort((left, right) => (left.hashSuffix < right.hashSuffix ? -1 : 1));
  lines.push({
    path: `/api/v3/breachedaccount/range/${place++ % 2 ? prefix : prefix.toLowerCase()}`,
    status: found.length > 0 ? 200 : 404,
    body: found.length > 0 ? JSON.stringify(found) : 'There are no hashes beginning with that prefix',
  });
}
process.stdout.write(lines.map(line => JSON.stringify(line) + '\n').join(''));

for (const [bits, group] of [...groups].sort(([left], [right]) => left - right)) {
  const names = plan.breaches.filter((_, bit) => bits & (1 << bit)).map(breach => breach.name).join(' + ');
  process.stderr.write(`${names}: ${group.length}\n`);
}
