// Loaded before Azurite (node --require). Azurite loads its telemetry client and its SQL back end at start,
// although neither is used here (--disableTelemetry, no AZURITE_DB). They are half of its 1,526 modules and
// take 0.65 s of its 1.5 s of CPU time. They and the packages that they need are not even installed: with them
// it would be 374 packages of 186 MB instead of 194 of 36. npm can't leave out a dependency, so package.json
// replaces them by a tiny package that is needed anyway.
const Module = require('module');

const unused = new Set(['applicationinsights', 'sequelize']);
const stub = new Proxy(class { }, { get: (target, name) => name in target ? target[name] : class { } });

const load = Module._load;
Module._load = (request, ...others) => unused.has(request) ? stub : load.call(Module, request, ...others);
