// Reads Bicep and PowerShell files with a real parser and prints what is in them as JSON, an object a file, so that the tests can compare it with the code.
//   node digest.mjs FILE...
// Of Bicep: syntax errors, names and functions that nothing declares, parameters, variables, resources (loops over known lists taken apart), modules, outputs. What can
// be known without Azure is worked out; the rest is {"$expression": "source"}. Of PowerShell: syntax errors.
import { readFileSync } from 'node:fs';
import { basename, extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Language, Parser } from 'web-tree-sitter';

// Bicep's own that our files use; another one is reported, so that a misspelt one is.
const functions = new Set(['any', 'bool', 'concat', 'contains', 'empty', 'environment', 'format', 'guid', 'json', 'length', 'listKeys', 'loadJsonContent', 'loadTextContent',
  'max', 'min', 'readEnvironmentVariable', 'replace', 'resourceGroup', 'resourceId', 'string', 'subscription', 'subscriptionResourceId', 'take', 'tenant', 'toLower', 'union', 'uniqueString']);
const decorators = new Set(['allowed', 'description', 'maxLength', 'maxValue', 'metadata', 'minLength', 'minValue', 'secure']);

await Parser.init();
const grammar = async name => Language.load(fileURLToPath(import.meta.resolve(`${name}/${name}.wasm`)));
const grammars = { '.bicep': await grammar('tree-sitter-bicep'), '.ps1': await grammar('tree-sitter-powershell') };
grammars['.bicepparam'] = grammars['.bicep'];

console.log(JSON.stringify(Object.fromEntries(process.argv.slice(2).map(file => [file, digest(file)]))));

function digest(file) {
  let text = readFileSync(file, 'utf8');
  const kind = extname(file);
  // The grammar knows parameters with a type only; an assignment is a variable to it.
  if (kind === '.bicepparam')
    text = text.replace(/^param (?=\w+ *=)/gm, 'var   ');
  const parser = new Parser();
  parser.setLanguage(grammars[kind]);
  const root = parser.parse(text).rootNode;
  const errors = syntaxErrors(root);
  return kind === '.ps1' || errors.length ? { errors } : bicep(root, errors);
}

function syntaxErrors(root) {
  const errors = [];
  visit(root, node => {
    if (node.isError || node.isMissing)
      errors.push(`line ${node.startPosition.row + 1}: ${node.isMissing ? `${node.type} expected` : 'not understood'} at '${node.text.slice(0, 60)}'`);
    return node.hasError;
  });
  return errors;
}

function visit(node, act) {
  if (act(node) === false)
    return;
  for (const child of node.children)
    visit(child, act);
}

function bicep(root, errors) {
  const result = { errors, params: {}, vars: {}, resources: [], modules: [], outputs: {}, asked: [] };
  const declared = new Map();
  visit(root, node => {
    if (/^(parameter|variable|resource|module)_declaration$/.test(node.type))
      declared.set(name(node), node);
    if (node.type === 'for_statement')
      loopNames(node).forEach(one => declared.set(one, node));
  });

  const names = new Map();
  let pending = [];
  for (const node of root.namedChildren) {
    switch (node.type) {
      case 'decorators':
        pending = node.namedChildren.map(decorator => decorator.text.slice(1));
        continue;
      case 'using_statement':
        result.using = evaluate(node.namedChildren[0], names);
        break;
      case 'parameter_declaration': {
        const [, type, value] = node.namedChildren;
        result.params[name(node)] = { type: type.text, required: !value, decorators: pending, default: value && evaluate(value, names) };
        break;
      }
      case 'variable_declaration': {
        const value = evaluate(node.namedChildren[1], names);
        result.vars[name(node)] = value;
        names.set(name(node), value);
        break;
      }
      case 'resource_declaration':
        resource(node, null, names);
        break;
      case 'module_declaration':
        // One that is deployed on a condition is what it is when it is.
        for (const [content, scope] of unroll(node.namedChildren[2], names))
          result.modules.push({ symbol: name(node), path: evaluate(node.namedChildren[1], names), ...evaluate(content, scope) });
        break;
      case 'output_declaration':
        result.outputs[name(node)] = evaluate(node.namedChildren.at(-1), names);
        break;
    }
    pending = [];
  }
  references();
  return result;

  // A nested one gets its parent's type before its own, as Bicep has it.
  function resource(node, parent, names) {
    const [symbol, declaration, body] = node.namedChildren;
    const type = parent ? `${parent.type.split('@')[0]}/${evaluate(declaration, names)}@${parent.type.split('@')[1]}` : evaluate(declaration, names);
    for (const [content, scope] of unroll(body, names)) {
      const item = { symbol: symbol.text, type, existing: node.children.some(child => child.type === 'existing'), body: evaluate(content, scope) };
      result.resources.push(item);
      for (const property of content.namedChildren) {
        const nested = property.type === 'object_property' && property.namedChildren[0].type === 'resource_declaration' ? property.namedChildren[0] : null;
        if (nested)
          resource(nested, item, scope);
      }
    }
  }

  function unroll(body, names) {
    if (body.type === 'if_statement')
      return [[body.namedChildren[1], names]];
    if (body.type !== 'for_statement')
      return [[body, names]];
    const [, list, content] = body.namedChildren;
    const [item, index] = loopNames(body);
    const values = evaluate(list, names);
    if (!Array.isArray(values))
      throw new Error(`line ${body.startPosition.row + 1}: the list '${list.text}' can't be worked out`);
    return values.flatMap((value, i) => unroll(content, new Map(names).set(item, value).set(index, i)));
  }

  function evaluate(node, names) {
    const unknown = () => ({ $expression: node.text });
    switch (node.type) {
      case 'string': {
        if (node.namedChildCount === 0)
          return node.text.replace(/^'+|'+$/g, '');
        // What can't be worked out stays in the text as it is written: '${app.name}/x'.
        return node.namedChildren.map(part => {
          if (part.type === 'escape_sequence')
            return part.text.slice(1);
          const value = part.type === 'interpolation' ? evaluate(part.namedChildren[0], names) : part.text;
          return value === null || typeof value === 'object' ? part.text : value;
        }).join('');
      }
      case 'number':
        return Number(node.text);
      case 'boolean':
        return node.text === 'true';
      case 'null':
        return null;
      case 'array':
        return node.namedChildren.filter(child => child.type !== 'comment').map(child => evaluate(child, names));
      case 'object':
        return Object.fromEntries(node.namedChildren.filter(child => child.type === 'object_property' && child.namedChildCount > 1).map(property => {
          const [key, value] = property.namedChildren;
          const known = key.type === 'string' ? evaluate(key, names) : key.text;
          return [typeof known === 'string' ? known : key.text, evaluate(value, names)];
        }));
      case 'identifier':
        return names.has(node.text) ? names.get(node.text) : unknown();
      case 'parenthesized_expression':
        return evaluate(node.namedChildren[0], names);
      case 'member_expression': {
        const target = evaluate(node.namedChildren[0], names);
        const member = node.namedChildren[1].text;
        return target !== null && typeof target === 'object' && !target.$expression && member in target ? target[member] : unknown();
      }
      case 'subscript_expression': {
        const [target, index] = node.namedChildren.map(child => evaluate(child, names));
        return target !== null && typeof target === 'object' && typeof index === 'string' && index in target ? target[index] : unknown();
      }
      case 'call_expression':
        return { ...unknown(), arguments: node.namedChildren[1].namedChildren.map(argument => evaluate(argument, names)) };
      default:
        return unknown();
    }
  }

  // Every name and function used has to be declared; what is asked of modules is for the caller to compare with their outputs.
  function references() {
    const report = (node, what) => errors.push(`line ${node.startPosition.row + 1}: ${what}`);
    visit(root, node => {
      const parent = node.parent;
      if (node.type === 'object' || node.type === 'infrastructure')
        twice(node).forEach(child => report(child, `'${child.namedChildren[0].text}' is there twice`));
      if (node.type === 'decorator') {
        if (!decorators.has(node.text.slice(1).split('(')[0]))
          report(node, `decorator ${node.text} is not known`);
        return false;
      }
      if (node.type === 'member_expression' && /^\w+\.outputs\.\w+$/.test(node.text))
        result.asked.push(node.text.split('.').filter((_, i) => i !== 1));
      if (node.type === 'property_identifier' || node.type === 'type' || node.type !== 'identifier')
        return node.type !== 'type';
      const first = parent.namedChildren[0].equals(node);
      if (first && parent.type === 'call_expression') {
        if (!functions.has(node.text))
          report(node, `function ${node.text} is not known`);
      }
      else if (!(first && (/_declaration$/.test(parent.type) || ['object_property', 'for_statement'].includes(parent.type))) && !declared.has(node.text))
        report(node, `nothing declares '${node.text}'`);
      return true;
    });
  }
}

// Bicep takes a name once: of what a file declares, and in an object.
function twice(node) {
  const known = new Set();
  return node.namedChildren.filter(child => /_declaration$|^object_property$/.test(child.type) && child.namedChildCount > 1 && child.type !== 'output_declaration')
    .filter(child => known.size === known.add(child.namedChildren[0].text).size);
}

// The item's, and the index's where there is one.
function loopNames(node) {
  const [first] = node.namedChildren;
  return first.type === 'for_loop_parameters' ? first.namedChildren.map(child => child.text) : [first.text];
}

function name(node) {
  return node.namedChildren[0].text;
}
