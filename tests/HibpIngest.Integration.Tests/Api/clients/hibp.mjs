// Makes every call of the client `hibp` that is served, and writes what each gave as one line of JSON.
// Usage: node hibp.mjs BASE_URL API_KEY|- ACCOUNT DOMAIN
import * as hibp from 'hibp'

const [baseUrl, key, account, domain] = process.argv.slice(2)
const options = { baseUrl, ...(key === '-' ? {} : { apiKey: key }) }
const nobody = 'nobody@example.com'

const calls = {
  breachedAccount: () => hibp.breachedAccount(account, options),
  breachedAccountWhole: () => hibp.breachedAccount(account, { ...options, truncate: false }),
  breachedAccountVerified: () => hibp.breachedAccount(account, { ...options, includeUnverified: false }),
  breachedAccountDomain: () => hibp.breachedAccount(account, { ...options, domain: 'alpha.example' }),
  breachedAccountNobody: () => hibp.breachedAccount(nobody, options),
  breachedAccountEmpty: () => hibp.breachedAccount('a@b@c', options),
  breachedDomain: () => hibp.breachedDomain(domain, options),
  breachedDomainOther: () => hibp.breachedDomain('not-ours.com', options),
  breach: () => hibp.breach('Alpha', options),
  breachNone: () => hibp.breach('Nothing', options),
  breaches: () => hibp.breaches(options),
  breachesDomain: () => hibp.breaches({ ...options, domain: 'beta.example' }),
  dataClasses: () => hibp.dataClasses(options),
  latestBreach: () => hibp.latestBreach(options),
  pasteAccount: () => hibp.pasteAccount(account, options),
  search: () => hibp.search(account, options),
  searchNobody: () => hibp.search(nobody, options),
  subscribedDomains: () => hibp.subscribedDomains(options),
  subscriptionStatus: () => hibp.subscriptionStatus(options),
  stealerLogsByEmail: () => hibp.stealerLogsByEmail(account, options),
}

const results = {}
for (const [name, call] of Object.entries(calls)) {
  try {
    results[name] = { value: await call() }
  } catch (e) {
    results[name] = { error: e.message, retryAfterSeconds: e.retryAfterSeconds }
  }
}
console.log(JSON.stringify(results))
