// Loaded before Azurite (node --require). Azurite looks an entity up by { PartitionKey, RowKey }, and LokiJS takes the index of the
// first of them and walks the rest: each upsert into gmail.com reads all of gmail.com. Row keys differ where partition keys don't, and are
// indexed too, so the same two conditions the other way round find the same entity by its index.
const { Collection } = require('lokijs');

const findOne = Collection.prototype.findOne;
Collection.prototype.findOne = function (query) {
  if (query && typeof query.PartitionKey === 'string' && typeof query.RowKey === 'string') {
    const { PartitionKey, RowKey, ...others } = query;
    query = { RowKey, PartitionKey, ...others };
  }
  return findOne.call(this, query);
};
