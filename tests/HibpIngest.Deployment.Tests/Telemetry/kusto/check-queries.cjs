// Reads {"tables": {name: {column: type}}, "queries": {name: text}} and writes, for each query, what Kusto's own parser and binder find wrong with it: {name: [message]}.
'use strict';
const { readFileSync } = require('node:fs');
require('@kusto/language-service-next/bridge.js');
require('@kusto/language-service-next/Kusto.Language.Bridge.js');

const { tables, queries } = JSON.parse(readFileSync(0, 'utf8'));
const { GlobalState, KustoCode, Symbols } = Kusto.Language;
const columns = of => `(${Object.entries(of).map(([name, type]) => `${name}:${type}`).join(', ')})`;
const symbols = Object.entries(tables).map(([name, of]) => new Symbols.TableSymbol.$ctor7(name, columns(of), null));
const globals = GlobalState.Default.WithDatabase(new Symbols.DatabaseSymbol.$ctor3('workspace', null, symbols, false));

const found = {};
for (const [name, text] of Object.entries(queries)) {
  const diagnostics = KustoCode.ParseAndAnalyze(text, globals).GetDiagnostics();
  found[name] = [];
  for (let i = 0; i < diagnostics.Count; i++) {
    const one = diagnostics.getItem(i);
    found[name].push(`${one.Severity} ${one.Code} at ${one.Start}: ${one.Message}`);
  }
}
process.stdout.write(JSON.stringify(found));
