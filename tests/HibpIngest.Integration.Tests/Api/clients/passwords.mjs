// Asks each client of Pwned Passwords that npm has for the counts of passwords, and writes what each gave as one line of JSON:
// {CLIENT: {PASSWORD: {"value": COUNT} or {"error": MESSAGE}}}.
// Usage: node --require ./redirect.cjs passwords.mjs SERVER < [{"password", "sha1", "ntlm"}, ...]
// with PASSWORDS_SERVER=SERVER, for the clients that know one address only.
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { zxcvbnAsync, zxcvbnOptions } from '@zxcvbn-ts/core'
import { matcherPwnedFactory } from '@zxcvbn-ts/matcher-pwned'
import haveibeenpwned from 'haveibeenpwned'
import { pwnedPassword, pwnedPasswordRange } from 'hibp'
import hibpChecker from 'hibp-checker'
import pwnedpasswords from 'pwnedpasswords'

const baseUrl = new URL(process.argv[2]).origin
const require = createRequire(import.meta.url)
const pwnedpasswordsCommand = ['--require', require.resolve('./redirect.cjs'), require.resolve('pwnedpasswords')]

zxcvbnOptions.addMatcher('pwned', matcherPwnedFactory(fetch, zxcvbnOptions, { url: `${baseUrl}/range/`, networkErrorHandler: fail }))
const byRange = promisify(haveibeenpwned({}).pwnedpasswords.byRange)

const clients = {
  hibp: ({ password }) => pwnedPassword(password, { baseUrl }),
  hibpPadded: ({ password }) => pwnedPassword(password, { baseUrl, addPadding: true }),
  hibpRange: ({ sha1 }) => inRange(sha1, {}),
  hibpRangePadded: ({ sha1 }) => inRange(sha1, { addPadding: true }),
  hibpRangeNtlm: ({ ntlm }) => inRange(ntlm, { mode: 'ntlm' }),
  hibpRangeNtlmPadded: ({ ntlm }) => inRange(ntlm, { mode: 'ntlm', addPadding: true }),
  zxcvbn: async ({ password }) =>
    (await zxcvbnAsync(password)).sequence.find(match => match.pattern === 'pwned')?.pwnedAmount ?? 0,
  pwnedpasswords: ({ password }) => pwnedpasswords(password),
  pwnedpasswordsCommand: async ({ password }) =>
    Number((await promisify(execFile)(process.execPath, [...pwnedpasswordsCommand, password])).stdout),
  hibpChecker: ({ password }) => hibpChecker(password),
  haveibeenpwned: async ({ sha1 }) => (await byRange(sha1))[sha1.slice(5).toLowerCase()] ?? 0,
}

async function inRange(hash, options) {
  return (await pwnedPasswordRange(hash.slice(0, 5), { ...options, baseUrl }))[hash.slice(5)] ?? 0
}

function fail(answer) {
  throw new Error(`the range could not be had: ${answer.status ?? answer.message}`)
}

const asked = JSON.parse(await text(process.stdin))
const results = {}
for (const [name, count] of Object.entries(clients)) {
  results[name] = {}
  for (const one of asked) {
    try {
      results[name][one.password] = { value: await count(one) }
    } catch (e) {
      results[name][one.password] = { error: String(e?.message ?? e) }
    }
  }
}
console.log(JSON.stringify(results))
