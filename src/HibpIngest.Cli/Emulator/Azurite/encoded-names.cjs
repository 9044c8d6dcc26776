// Loaded before Azurite (node --require). Azurite writes blob names into the XML of a listing without
// encoding them. Its XML writer throws on characters that XML 1.0 doesn't allow (most control characters,
// U+FFFE, U+FFFF), so one such name turns every listing of its container into a 500 without a body. Azure
// Storage percent-encodes such a name and sets Encoded="true" (since version 2021-02-12); clients decode it.
const { Builder } = require('xml2js');
const { default: Store } = require('azurite/dist/src/blob/persistence/LokiBlobMetadataStore');

const illegal = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;
const encoded = '\uE000';

function legal(key, value) {
  if (typeof value === 'string') {
    if (value.search(illegal) < 0)
      return value;
    return key === 'Name'
      ? { $: { Encoded: 'true' }, _: encodeURIComponent(value.toWellFormed()) } : value.replace(illegal, '\uFFFD');
  }
  if (Array.isArray(value))
    return value.map(one => legal(key, one));
  if (value && Object.getPrototypeOf(value) === Object.prototype)
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, legal(name, one)]));
  return value;
}

const buildObject = Builder.prototype.buildObject;
Builder.prototype.buildObject = function (root) {
  return buildObject.call(this, legal('', root));
};

// The continuation marker is the last name of the current page.
const listBlobs = Store.prototype.listBlobs;
Store.prototype.listBlobs = async function (context, account, container, delimiter, blob, prefix, maxResults, marker, ...others) {
  if (marker && marker.startsWith(encoded))
    marker = decodeURIComponent(marker.slice(encoded.length));
  const [blobs, prefixes, next] = await listBlobs.call(
    this, context, account, container, delimiter, blob, prefix, maxResults, marker, ...others);
  const isPlain = !next || (next.search(illegal) < 0 && !next.startsWith(encoded));
  return [blobs, prefixes, isPlain ? next : encoded + encodeURIComponent(next.toWellFormed())];
};
