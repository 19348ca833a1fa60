// Runs before `npm start` and `npm test`: installs what the lock file asks for when it is missing or older.
// Plain JavaScript without imports of ours, because on a fresh clone there is nothing to import yet.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`Node 20.19 or later is needed; this is ${process.versions.node}.\n`);
  process.exit(1);
}

const lock = createHash('sha256')
  .update(readFileSync(join(root, 'package-lock.json')))
  .digest('hex');
const stamp = join(root, 'node_modules', '.installed-lock');
const installed = existsSync(stamp) ? readFileSync(stamp, 'utf8') : '';

if (installed !== lock) {
  process.stdout.write('Installing packages (about a minute the first time) …\n');
  const npm = process.env.npm_execpath;
  const [command, args] = npm === undefined ? ['npm', ['ci']] : [process.execPath, [npm, 'ci']];
  const result = spawnSync(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  if (result.status !== 0) {
    process.stderr.write(
      'npm ci failed: see the lines above; run the command again once it is mended.\n',
    );
    process.exit(1);
  }
  writeFileSync(stamp, lock);
}
