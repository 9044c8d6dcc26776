// Loaded before Azurite (node --require). LokiJS saves a database as a whole, and Azurite has it do so every
// 5 seconds during changes. With 300,000 accounts (270 MB of JSON) the saves took half of the emulator's
// time, and it didn't respond during a save. An automatic save now waits for four times the duration of the
// previous one. The save at shutdown is not affected.
const Loki = require('lokijs');

const pause = 4;

const saveDatabase = Loki.prototype.saveDatabase;
Loki.prototype.saveDatabase = function (callback) {
  const began = Date.now();
  saveDatabase.call(this, error => {
    const ended = Date.now();
    this.nextSave = ended + pause * (ended - began);
    if (error) {
      // After a failed save, for example on a full disk, LokiJS still clears the dirty flags. Set them, so
      // that the next save retries.
      this.collections.forEach(collection => { collection.dirty = true; });
      console.error(`the emulator's data was not saved: ${error.message}`);
    }
    callback?.(error);
  });
};

const autosaveDirty = Loki.prototype.autosaveDirty;
Loki.prototype.autosaveDirty = function () {
  return !(this.autosaveHandle && Date.now() < this.nextSave) && autosaveDirty.call(this);
};
