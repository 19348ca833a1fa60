/** A process that indexes and is killed: `sync-child.ts <rpc url> <deployment file> <database url> <blocks a range>`. */
import { readDeployment } from '../../contracts-abi/deployment.ts';
import { openIndex } from './index-under-test.ts';

const [url = '', file = '', database = '', range = '10'] = process.argv.slice(2);
const index = await openIndex(url, readDeployment(file), {
  database,
  maxRange: Number(range),
  overlap: 2,
});

await index.catchUp();
await index.close();
