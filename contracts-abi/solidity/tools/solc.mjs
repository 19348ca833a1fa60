#!/usr/bin/env node
// Speaks the native solc command line that forge expects, over the compiler that npm ships,
// so that contracts compile with no download. Source: solc's docs, "Using the Commandline Compiler".
//
// forge names a file of node_modules in two ways: relative when reached through a remapping, absolute when reached
// from a neighbouring file. The native compiler finds both on disk; this one sees only the names it is given. So
// absolute names become relative to the project (forge's working directory) on the way in, and back on the way out.
import path from 'node:path';
import solc from 'solc';

const args = process.argv.slice(2);

const renameKeys = (record, rename) =>
  record && Object.fromEntries(Object.entries(record).map(([key, value]) => [rename(key), value]));

function compile(input) {
  const absoluteOf = new Map();
  const shorten = (name) => {
    if (!path.isAbsolute(name)) return name;
    const relative = path.relative(process.cwd(), name);
    absoluteOf.set(relative, name);
    return relative;
  };
  input.sources = renameKeys(input.sources, shorten);
  if (input.settings?.outputSelection) {
    input.settings.outputSelection = renameKeys(input.settings.outputSelection, shorten);
  }
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const lengthen = (name) => absoluteOf.get(name) ?? name;
  output.sources = renameKeys(output.sources, lengthen);
  output.contracts = renameKeys(output.contracts, lengthen);
  for (const error of output.errors ?? []) {
    if (error.sourceLocation) error.sourceLocation.file = lengthen(error.sourceLocation.file);
  }
  return JSON.stringify(output);
}

if (args.includes('--version')) {
  const version = solc.version().replace('Emscripten.clang', 'Linux.g++');
  process.stdout.write(`solc, the solidity compiler commandline interface\nVersion: ${version}\n`);
} else if (args.includes('--standard-json')) {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  process.stdout.write(compile(JSON.parse(Buffer.concat(chunks).toString('utf8'))));
} else {
  process.stderr.write('solc wrapper: only --version and --standard-json are supported\n');
  process.exitCode = 1;
}
