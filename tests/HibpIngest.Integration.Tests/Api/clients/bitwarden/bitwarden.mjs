// Asks Bitwarden's command line (bw get exposed) for the counts of passwords, and writes {PASSWORD: {"value": COUNT}} as one line of
// JSON. It looks up what is in a vault only, so there is one here: a server of the few calls that logging in needs, with a made-up
// account whose key, private key and items are encrypted as Bitwarden's security white paper says.
// Usage: node bitwarden.mjs < [{"password"}, ...], with PASSWORDS_SERVER for ../redirect.cjs
import { execFile } from 'node:child_process'
import { createCipheriv, createHmac, generateKeyPairSync, pbkdf2Sync, randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'

const require = createRequire(import.meta.url)
const command = ['--require', require.resolve('../redirect.cjs'), require.resolve('@bitwarden/cli/build/bw.js')]
const email = 'client@example.com'
const masterPassword = randomBytes(16).toString('hex')
const iterations = 600_000

const asked = JSON.parse(await text(process.stdin))
const vault = http.createServer(answering(accountOf(asked.map(one => one.password)))).listen(0, '127.0.0.1')
await new Promise(resolve => vault.once('listening', resolve))
const folder = await mkdtemp(join(tmpdir(), 'hibp-bitwarden-'))
const env = {
  ...process.env,
  BITWARDENCLI_APPDATA_DIR: folder,
  BW_NOINTERACTION: 'true',
  VAULT_SERVER: `http://127.0.0.1:${vault.address().port}`,
}
const run = async (...args) => (await promisify(execFile)(process.execPath, [...command, ...args], { env })).stdout.trim()
try {
  await run('config', 'server', 'https://vault.example')
  env.BW_SESSION = await run('login', email, masterPassword, '--raw')
  const results = {}
  for (const { password } of asked)
    results[password] = { value: Number(await run('get', 'exposed', password)) }
  console.log(JSON.stringify(results))
} finally {
  vault.close()
  await rm(folder, { recursive: true })
}

function accountOf(passwords) {
  const masterKey = pbkdf2Sync(masterPassword, email, iterations, 32, 'sha256')
  // HKDF-Expand (RFC 5869) to 32 bytes.
  const stretched = ['enc', 'mac'].map(info => createHmac('sha256', masterKey).update(`${info}\x01`).digest())
  const userKey = randomBytes(64)
  const key = seal(userKey, ...stretched)
  const sealed = data => seal(Buffer.from(data), userKey.subarray(0, 32), userKey.subarray(32))
  const pair = generateKeyPairSync('rsa', {
    modulusLength: 2048, publicKeyEncoding: { type: 'spki', format: 'der' }, privateKeyEncoding: { type: 'pkcs8', format: 'der' },
  })
  const privateKey = sealed(pair.privateKey)
  const now = new Date().toISOString()
  return {
    id: randomUUID(),
    key,
    privateKey,
    accountKeys: { publicKeyEncryptionKeyPair: { wrappedPrivateKey: privateKey, publicKey: pair.publicKey.toString('base64') } },
    items: passwords.map(password => ({
      id: randomUUID(), type: 1, name: sealed(password), login: { password: sealed(password) }, edit: true, collectionIds: [],
      revisionDate: now, creationDate: now, reprompt: 0,
    })),
  }
}

// Type 2 of an encrypted string: AES-256-CBC, and HMAC-SHA-256 of vector and text.
function seal(data, encryptionKey, macKey) {
  const vector = randomBytes(16)
  const cipher = createCipheriv('aes-256-cbc', encryptionKey, vector)
  const sealed = Buffer.concat([cipher.update(data), cipher.final()])
  const mac = createHmac('sha256', macKey).update(vector).update(sealed).digest()
  return `2.${[vector, sealed, mac].map(part => part.toString('base64')).join('|')}`
}

function answering({ id, key, privateKey, accountKeys, items }) {
  const kdf = { kdfType: 0, iterations }
  const unlock = { salt: email, kdf, masterKeyEncryptedUserKey: key }
  const seconds = Math.floor(Date.now() / 1000)
  const token = [
    { alg: 'none', typ: 'JWT' },
    { sub: id, client_id: 'cli', email, email_verified: true, premium: false, nbf: seconds - 60, exp: seconds + 86_400 },
    'unsigned',
  ].map(part => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const answers = {
    '/identity/accounts/prelogin/password': { kdf: 0, kdfIterations: iterations, kdfSettings: kdf, salt: email },
    '/identity/connect/token': {
      access_token: token, refresh_token: 'refresh', token_type: 'Bearer', expires_in: 86_400, key, privateKey, accountKeys,
      kdf: 0, kdfIterations: iterations, userDecryptionOptions: { hasMasterPassword: true, masterPasswordUnlock: unlock },
    },
    '/api/sync': {
      profile: { id, email, emailVerified: true, key, privateKey, accountKeys, securityStamp: 'stamp' },
      folders: [], collections: [], ciphers: items, policies: [], sends: [], userDecryption: { masterPasswordUnlock: unlock },
    },
    '/api/accounts/revision-date': Date.now(),
  }
  return (request, response) => {
    request.resume()
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(answers[request.url.split('?')[0]] ?? {}))
  }
}
