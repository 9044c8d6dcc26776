// Loaded before a client that knows one address only (node --require redirect.cjs CLIENT): sends its requests to the server that
// PASSWORDS_SERVER names, and those for https://vault.example to VAULT_SERVER. A request for anything else is refused, so that no
// test asks the real service.
const http = require('node:http')
const https = require('node:https')

const servers = {
  'api.pwnedpasswords.com': process.env.PASSWORDS_SERVER,
  'vault.example': process.env.VAULT_SERVER,
}

function redirected(method) {
  return (first, ...rest) => {
    const isAddress = typeof first === 'string' || first instanceof URL
    const address = isAddress ? new URL(first) : new URL(first.path, `https://${first.hostname ?? first.host}`)
    if (!servers[address.host])
      throw new Error(`a client asked ${address.host}, which is not redirected`)
    const server = new URL(servers[address.host])
    const options = isAddress ? (typeof rest[0] === 'object' ? rest.shift() : {}) : first
    return http[method]({
      ...options,
      // One for TLS, or for a proxy.
      agent: undefined,
      protocol: server.protocol,
      host: server.hostname,
      hostname: server.hostname,
      port: server.port,
      // As the client wrote it: an empty query stays one.
      path: isAddress ? address.pathname + address.search : first.path,
    }, ...rest)
  }
}

https.request = redirected('request')
https.get = redirected('get')
