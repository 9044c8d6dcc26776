// Prints, from the result files of a test run, the minutes of each test project, the slowest tests (several run
// concurrently, and slow each other down) and the share of lines that the tests ran in each project below src. Only
// test projects that tests/Directory.Build.props selects are counted there. A line counts once, even if several test
// projects ran it. Generated lines don't count.
import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

const [results, root] = process.argv.slice(2);
const files = readdirSync(results, { recursive: true }).map((name) => join(results, name));

const tests = [];
for (const file of files.filter((name) => name.endsWith('.trx')).sort()) {
  const text = readFileSync(file, 'utf8');
  for (const [, name, hours, minutes, seconds] of text.matchAll(/<UnitTestResult [^>]*testName="([^"]+)"[^>]* duration="(\d+):(\d+):([\d.]+)"/g)) {
    tests.push([name, 3600 * hours + 60 * minutes + Number(seconds)]);
  }
  const [, start, finish] = /<Times [^>]*start="([^"]+)" finish="([^"]+)"/.exec(text);
  console.log(`${((Date.parse(finish) - Date.parse(start)) / 60_000).toFixed(1)} minutes  ${basename(file, '.trx')}`);
}

console.log('slowest tests:');
for (const [name, seconds] of tests.sort((one, other) => other[1] - one[1]).slice(0, 20)) {
  console.log(`${seconds.toFixed(1).padStart(6)} s  ${name}`);
}

const lines = new Map(readdirSync(join(root, 'src')).filter((name) => name.startsWith('HibpIngest.')).sort().map((project) => [project, new Map()]));
for (const file of files.filter((name) => name.endsWith('.cobertura.xml'))) {
  let seen, path;
  for (const [, , filename, number, hits] of readFileSync(file, 'utf8').matchAll(/<(class|line) [^>]*?(?:filename="([^"]*)"|number="(\d+)" hits="(\d+)")/g)) {
    if (filename !== undefined) {
      path = filename;
      seen = lines.get(/[/\\]src[/\\](HibpIngest\.[^/\\]+)[/\\]/.exec(filename)?.[1]);
    } else if (!path.includes('/obj/')) {
      seen?.set(`${path}:${number}`, hits !== '0' || seen.get(`${path}:${number}`) === true);
    }
  }
}
if (!files.some((name) => name.endsWith('.cobertura.xml'))) {
  process.exit(0);
}
console.log('lines that HibpIngest.Tests and HibpIngest.Integration.Tests ran:');
for (const [project, seen] of lines) {
  const ran = [...seen.values()].filter((hit) => hit).length;
  console.log(`${seen.size === 0 ? '  -' : String(Math.floor((100 * ran) / seen.size)).padStart(3)} %  ${project}`);
}
