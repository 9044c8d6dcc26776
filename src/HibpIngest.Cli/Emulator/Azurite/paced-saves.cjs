// Loaded before Azurite (node --require). LokiJS saves a database as a whole, and Azurite has it do so every 5 seconds while anything
// changes. With 300,000 accounts (270 MB of JSON) the saves took half of the emulator's time, and it answered nothing meanwhile. An
// automatic save now waits four times as long as the one before took; what is saved when the emulator stops is not affected.
const Loki = require('lokijs');

const pause = 4;

const saveDatabase = Loki.prototype.saveDatabase;
Loki.prototype.saveDatabase = function (callback) {
  const began = Date.now();
  saveDatabase.call(this, error => {
    const ended = Date.now();
    this.nextSave = ended + pause * (ended - began);
    if (error) {
      // A full disk, for one: LokiJS takes what it was to save for saved.
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
