// The receiving end of calls to clients, and what they have to be: it shares no code with the product. Accounts are extracted and hashed
// here, and a call's key is computed from what the documents say (docs/callbacks.md).
// usage: node call-campaign.mjs watch BITMAP half             a random half of all prefixes
//        node call-campaign.mjs watch BITMAP SCRIPT ZIP...    those of every 20th account of the zips, and as many of nobody
//        node call-campaign.mjs receive LOG                   a server; its port is the first line it prints
//        node call-campaign.mjs check PLAN.json               prints what was counted, and what is wrong
// plan: {"log","extract","breaches":[{"name","zip"}],"clients":[{"path","number","secret","cap","bitmap"}]}
import { createHash, randomBytes, randomInt } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';

const prefixes = 1 << 24;
const hashOf = account => createHash('sha1').update(account).digest('hex').toUpperCase();
const prefixOf = hash => parseInt(hash.slice(0, 6), 16);

function accountsOf(script, zip) {
  const lines = execFileSync(process.execPath, [script, zip], { maxBuffer: 1 << 30, encoding: 'latin1' });
  return lines.split('\n').filter(Boolean);
}

function watch(file, kind, zips) {
  const bitmap = kind === 'half' ? randomBytes(prefixes / 8) : Buffer.alloc(prefixes / 8);
  const set = prefix => bitmap[prefix >> 3] |= 1 << (prefix & 7);
  for (const account of zips.flatMap(zip => accountsOf(kind, zip)).filter((_, i) => i % 20 === 0)) {
    set(prefixOf(hashOf(account)));
    set(randomInt(prefixes));
  }
  writeFileSync(file, bitmap);
}

// What a call is answered with; after so many that weren't accepted, one is.
const mostRefused = 3;

// Of a thousand; the rest is accepted.
const moods = {
  'fail': 100, 'refuse': 80, 'throttle': 40, 'throttle for 1 s': 4, 'unavailable for 1 s': 3, 'keep and hang up': 50, 'accept late': 20,
  'stall': 3 };

function draw() {
  let drawn = randomInt(1000);
  return Object.keys(moods).find(mood => (drawn -= moods[mood]) < 0) ?? 'accept';
}

function receive(file) {
  const log = openSync(file, 'a');
  const refused = new Map();
  const inFlight = new Map();
  let down = false;
  // For a while by turns, nothing is answered but 500.
  setInterval(() => down = !down && randomInt(6) === 0, 3000).unref();
  const server = createServer((request, response) => {
    const client = request.url;
    inFlight.set(client, (inFlight.get(client) ?? 0) + 1);
    response.on('close', () => inFlight.set(client, inFlight.get(client) - 1));
    const parts = [];
    request.on('data', part => parts.push(part));
    request.on('end', () => {
      const key = request.headers['idempotency-key'];
      const tries = refused.get(key) ?? 0;
      const answer = tries >= mostRefused ? 'accept' : down ? 'fail' : draw();
      if (!answer.startsWith('accept'))
        refused.set(key, tries + 1);
      writeSync(log, JSON.stringify({
        client, key, answer, method: request.method, type: request.headers['content-type'], authorization: request.headers.authorization,
        inFlight: inFlight.get(client), body: Buffer.concat(parts).toString() }) + '\n');
      const end = (status, headers) => response.writeHead(status, headers).end();
      switch (answer) {
        case 'accept': return end(204);
        case 'accept late': return setTimeout(() => end(200), 300);
        case 'fail': return end(500);
        case 'refuse': return end(401);
        case 'throttle': return end(429);
        case 'throttle for 1 s': return end(429, { 'Retry-After': '1' });
        case 'unavailable for 1 s': return end(503, { 'Retry-After': '1' });
        case 'keep and hang up': return request.socket.destroy();
      }
    });
  });
  server.on('close', () => closeSync(log));
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
}

// What is kept counts as said, whatever became of the answer.
const isKept = answer => answer.startsWith('accept') || answer === 'keep and hang up';

function check(plan) {
  const lines = readFileSync(plan.log, 'utf8').split('\n').filter(Boolean).map(line => JSON.parse(line));
  const faults = new Map();
  const fault = what => faults.set(what, (faults.get(what) ?? 0) + 1);
  const hashes = new Map(plan.breaches.map(({ name, zip }) => [name, new Set(accountsOf(plan.extract, zip).map(hashOf))]));
  let [expected, repeats] = [0, 0];
  for (const client of plan.clients) {
    const bitmap = readFileSync(client.bitmap);
    const wanted = new Set();
    for (const [breach, held] of hashes)
      for (const hash of held)
        if (bitmap[prefixOf(hash) >> 3] & 1 << (prefixOf(hash) & 7))
          wanted.add(`${breach} ${hash}`);
    expected += wanted.size;
    const kept = new Set();
    const bodies = new Map();
    const keyOf = new Map();
    for (const call of lines.filter(line => line.client === client.path)) {
      const { breachName, hashPrefix, hashSuffixes, ...more } = JSON.parse(call.body);
      if (Object.keys(more).length > 0 || !/^[0-9A-F]{6}$/.test(hashPrefix) || !hashSuffixes.every(one => /^[0-9A-F]{34}$/.test(one)))
        fault('a body has another shape');
      if (call.method !== 'POST' || !call.type.startsWith('application/json'))
        fault('a call is not a POST of JSON');
      if (call.authorization !== `Bearer ${client.secret}`)
        fault('a call has not the secret');
      if (call.inFlight > client.cap)
        fault('more calls than the cap are in flight');
      const text = `${client.number}\n${breachName}\n${hashPrefix}\n${hashSuffixes.join(',')}`;
      if (call.key !== createHash('sha256').update(text).digest('hex'))
        fault('a key is not what is documented');
      if (bodies.has(call.key))
        repeats++;
      if ((bodies.get(call.key) ?? call.body) !== call.body)
        fault('a key stands for two bodies');
      bodies.set(call.key, call.body);
      for (const suffix of hashSuffixes) {
        const told = `${breachName} ${hashPrefix}${suffix}`;
        if (!wanted.has(told))
          fault('a call says what the client does not watch, or the breach does not hold');
        if ((keyOf.get(told) ?? call.key) !== call.key)
          fault('a suffix comes under two keys');
        keyOf.set(told, call.key);
        if (isKept(call.answer))
          kept.add(told);
      }
    }
    for (const told of wanted)
      if (!kept.has(told))
        fault('something that is watched and held was never said');
  }
  const answers = {};
  for (const { answer } of lines)
    answers[answer] = (answers[answer] ?? 0) + 1;
  console.log(JSON.stringify({ expected, calls: lines.length, repeats, answers, faults: Object.fromEntries(faults) }));
}

const [mode, file, ...rest] = process.argv.slice(2);
switch (mode) {
  case 'watch': watch(file, rest[0], rest.slice(1)); break;
  case 'receive': receive(file); break;
  case 'check': check(JSON.parse(readFileSync(file, 'utf8'))); break;
  default: throw new Error('usage: see the first lines');
}
