// Loaded before Azurite (node --require). When LokiJS removes several documents, by a filter or by a list, it sorts all indexes of the
// collection again, even if it finds one or none. Azurite removes that way each deleted blob, expired messages before each receive, and,
// every 10 minutes, each extent that no blob refers to. It doesn't pause between extents: the emulator answered nothing for two
// minutes. Removing 1,000 of 12,000 extents took 24 s; without the sort it takes 0.04 s.
const { Collection } = require('lokijs');

// From here on one sort costs less than single removals.
const many = 100;

const removeBatchByPositions = Collection.prototype.removeBatchByPositions;
Collection.prototype.removeBatchByPositions = function (positions) {
  if (positions.length >= many)
    return removeBatchByPositions.call(this, positions);
  for (const document of positions.map(position => this.data[position]))
    this.remove(document);
};
