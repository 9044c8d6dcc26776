// Loaded before Azurite (node --require). For each request, Azurite compares the path with the template of
// every operation, and parses each template again.
const path = require.resolve('uri-templates');
const parse = require(path);

const parsed = new Map();
require.cache[path].exports = template => {
  if (!parsed.has(template))
    parsed.set(template, parse(template));
  return parsed.get(template);
};
