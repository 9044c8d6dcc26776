// Loaded before Azurite (node --require). Azurite looks an entity up by { PartitionKey, RowKey }, and LokiJS takes the index of the
// first of them and walks the rest: each upsert into gmail.com reads all of gmail.com. Row keys differ where partition keys don't, and are
// indexed too, so the same two conditions the other way round find the same entity by its index. Nothing else asks for a partition key
// by an index (queries filter all entities), so there is none: it took most of the time of an insert or a removal.
const Loki = require('lokijs');
const { Collection } = Loki;

const findOne = Collection.prototype.findOne;
Collection.prototype.findOne = function (query) {
  if (query && typeof query.PartitionKey === 'string' && typeof query.RowKey === 'string') {
    const { PartitionKey, RowKey, ...others } = query;
    query = { RowKey, PartitionKey, ...others };
  }
  return findOne.call(this, query);
};

const addCollection = Loki.prototype.addCollection;
Loki.prototype.addCollection = function (name, options) {
  return addCollection.call(this, name, options?.indices?.includes('RowKey') ? { ...options, indices: ['RowKey'] } : options);
};

// A store of an emulator that had it.
const loadJSONObject = Loki.prototype.loadJSONObject;
Loki.prototype.loadJSONObject = function (...database) {
  loadJSONObject.apply(this, database);
  for (const collection of this.collections)
    delete collection.binaryIndices.PartitionKey;
};
