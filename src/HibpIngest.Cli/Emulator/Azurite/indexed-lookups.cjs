// Loaded before Azurite (node --require). Azurite looks up entities by { PartitionKey, RowKey }. LokiJS uses
// the index of the first condition and scans its matches for the second, so each upsert into gmail.com reads
// all of gmail.com. Row keys are unique within a partition and indexed too, so the same conditions in reverse
// order find the same entity by its index. No other lookup uses the index of partition keys (queries filter
// all entities), so it is left out: it took most of the time of an insert or a removal.
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

// Removes the index from a store that an unpatched emulator saved.
const loadJSONObject = Loki.prototype.loadJSONObject;
Loki.prototype.loadJSONObject = function (...database) {
  loadJSONObject.apply(this, database);
  for (const collection of this.collections)
    delete collection.binaryIndices.PartitionKey;
};
