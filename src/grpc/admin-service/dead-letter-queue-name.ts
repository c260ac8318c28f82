import { createHash } from 'node:crypto';

/**
 * What a queue of history tasks is called in AdminService: `<category>_<source>_<target>_<h>`. `h` tells queues apart whose clusters have an
 * underscore in their names.
 */
export function deadLetterQueueName(categoryId: number, sourceCluster: string, targetCluster: string): string {
  const hash = sha256(Buffer.concat([sha256(sourceCluster), sha256(targetCluster)])).toString('base64');
  return `${categoryId}_${sourceCluster}_${targetCluster}_${hash.slice(0, 8)}`;
}

function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}
