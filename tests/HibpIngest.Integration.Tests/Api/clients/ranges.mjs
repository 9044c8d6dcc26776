// Asks for ranges over bare HTTP, with no user-agent, on one connection that is kept (a length that is wrong by a byte breaks the
// next answer), and writes what is not as clients need it, a line each; nothing where all is.
// Usage: node ranges.mjs SERVER gzip|identity < {"sha1": {PREFIX: ["SUFFIX:COUNT", ...]}, "ntlm": {...}}
// gzip: how ranges are kept, and so how they are sent to who takes that; one without rows is kept nowhere.
import { createHash } from 'node:crypto'
import http from 'node:http'
import { text } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'

const server = new URL(process.argv[2])
const isKeptAsGzip = process.argv[3] === 'gzip'
const stored = JSON.parse(await text(process.stdin))
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
const digits = { sha1: 35, ntlm: 27 }
// What real clients send: the official downloader, hibp and requests the second; curl and plain https.get the first.
const accepted = { identity: undefined, gzip: 'gzip, deflate' }

function ask(path, headers = {}, method = 'GET') {
  const sent = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined))
  return new Promise((resolve, reject) => http
    .request({ agent, method, path, headers: sent, host: server.hostname, port: server.port }, answer => {
      const chunks = []
      answer.on('data', chunk => chunks.push(chunk)).on('error', reject)
        .on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(chunks) }))
    })
    .on('error', reject).end())
}

let about = ''
function check(holds, what, found) {
  if (!holds)
    console.log(`${about}: ${what}; found ${found}`)
}

const equal = (expected, found, what) => check(expected === found, `${what} is ${expected}`, found)
const listed = header => (header ?? '').toLowerCase().split(',').map(item => item.trim())
const unpacked = answer => (answer.headers['content-encoding'] === 'gzip' ? gunzipSync(answer.body) : answer.body).toString('latin1')

function checkAnswer(answer, isGzip) {
  equal(200, answer.status, 'the status')
  equal(String(answer.body.length), answer.headers['content-length'], 'content-length')
  equal(undefined, answer.headers['transfer-encoding'], 'transfer-encoding')
  equal(isGzip ? 'gzip' : undefined, answer.headers['content-encoding'], 'content-encoding')
  check(/^text\/plain\b/.test(answer.headers['content-type']), 'content-type is text/plain', answer.headers['content-type'])
  equal('*', answer.headers['access-control-allow-origin'], 'access-control-allow-origin')
  for (const header of ['accept-encoding', 'add-padding'])
    check(listed(answer.headers.vary).includes(header), `vary has ${header}`, answer.headers.vary)
}

async function checkPlain(path, rows, length, encoding) {
  const accept = { 'accept-encoding': accepted[encoding] }
  const answer = await ask(path, accept)
  checkAnswer(answer, encoding === 'gzip' && isKeptAsGzip && rows.length > 0)
  // A row of zeros, for one client ends with an error on an empty body.
  const body = rows.length ? rows.join('\r\n') : `${'0'.repeat(length)}:0`
  check(unpacked(answer) === body, 'the body is the rows, CRLF between them', `${answer.body.length} bytes that are others`)
  const { etag } = answer.headers
  check(/^"[^"]+"$/.test(etag), 'etag is strong', etag)
  equal(createHash('md5').update(answer.body).digest('base64'), answer.headers['content-md5'], 'content-md5, of the body as sent,')
  if (rows.length)
    check(Date.parse(answer.headers['last-modified']) <= Date.now() + 1000, 'last-modified is a time gone by',
      answer.headers['last-modified'])
  check(/^public, max-age=\d+$/.test(answer.headers['cache-control']), 'cache-control is public, max-age=SECONDS',
    answer.headers['cache-control'])

  about += ', asked again'
  for (const known of [etag, `"another", ${etag}`, `W/${etag}`, '*']) {
    const unchanged = await ask(path, { ...accept, 'if-none-match': known })
    equal(304, unchanged.status, `the status for if-none-match: ${known}`)
    equal(0, unchanged.body.length, 'the length of a 304')
    for (const header of ['etag', 'cache-control', 'vary', 'last-modified'])
      equal(answer.headers[header], unchanged.headers[header], `${header} of a 304`)
  }
  equal(200, (await ask(path, { ...accept, 'if-none-match': '"another"' })).status, 'the status for another etag')
  const head = await ask(path, accept, 'HEAD')
  equal(200, head.status, 'the status of HEAD')
  equal(0, head.body.length, 'the length of HEAD')
  for (const header of ['etag', 'content-length', 'content-encoding', 'content-md5', 'cache-control'])
    equal(answer.headers[header], head.headers[header], `${header} of HEAD`)
  return answer.headers
}

async function checkPadded(path, rows, length, encoding, value) {
  const answers = []
  for (let time = 0; time < 2; time++)
    answers.push(await ask(path, { 'accept-encoding': accepted[encoding], 'add-padding': value, 'if-none-match': '*' }))
  for (const answer of answers) {
    // Whether a padded answer is compressed is the server's choice.
    checkAnswer(answer, encoding === 'gzip' && answer.headers['content-encoding'] === 'gzip')
    equal(undefined, answer.headers.etag, 'etag')
    equal(undefined, answer.headers['content-md5'], 'content-md5')
    const found = unpacked(answer).split('\r\n')
    equal(rows.join(), found.filter(row => !row.endsWith(':0')).join(), 'what has a count')
    const padding = found.filter(row => row.endsWith(':0'))
    check(padding.length >= 10 && padding.length <= 210, 'padding is some 10 to 210 rows', padding.length)
    check(padding.every(row => new RegExp(`^[0-9A-F]{${length}}:0$`).test(row)), 'padding reads as rows do', 'others')
  }
  check(unpacked(answers[0]) !== unpacked(answers[1]), 'padding is another each time', 'the same')
}

const etags = new Map()
for (const [mode, ranges] of Object.entries(stored)) {
  // Any mode but the very word ntlm is SHA-1.
  for (const query of mode === 'ntlm' ? ['?mode=ntlm'] : ['', '?', '?mode=sha1', '?mode=NTLM']) {
    for (const [prefix, rows] of Object.entries(ranges)) {
      for (const path of [`/range/${prefix}${query}`, `/range/${prefix.toLowerCase()}${query}`]) {
        for (const encoding of Object.keys(accepted)) {
          about = `${path}, ${encoding}`
          const headers = await checkPlain(path, rows, digits[mode], encoding)
          const [of, etag] = [`${prefix}, ${mode}, ${headers['content-encoding']}`, headers.etag]
          equal(of, etags.get(etag) ?? of, `what etag ${etag} stands for`)
          etags.set(etag, of)
          about = `${path}, ${encoding}, padded`
          await checkPadded(path, rows, digits[mode], encoding, encoding === 'gzip' ? 'true' : 'TRUE')
        }
      }
    }
  }
}

for (const path of ['/range/5BAA', '/range/5BAA61', '/range/5BAAG']) {
  about = path
  const answer = await ask(path)
  equal(400, answer.status, 'the status')
  equal(String(answer.body.length), answer.headers['content-length'], 'content-length')
  equal('no-store', answer.headers['cache-control'], 'cache-control')
}

about = 'OPTIONS /range/5BAA6'
const preflight = await ask('/range/5BAA6', {
  origin: 'https://example.com', 'access-control-request-method': 'GET', 'access-control-request-headers': 'add-padding,cache-control',
}, 'OPTIONS')
check([200, 204].includes(preflight.status), 'the status is 200 or 204', preflight.status)
equal('*', preflight.headers['access-control-allow-origin'], 'access-control-allow-origin')
for (const header of ['add-padding', 'cache-control']) {
  check(listed(preflight.headers['access-control-allow-headers']).some(name => name === header || name === '*'),
    `access-control-allow-headers has ${header}`, preflight.headers['access-control-allow-headers'])
}
agent.destroy()
