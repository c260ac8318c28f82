/** Kafka's jars: a folder somebody names, or fetched once through Maven into the repository's cache. */
import { execFile } from 'node:child_process';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

export const kafkaVersion = '4.1.2';
export const cacheFolder = fileURLToPath(new URL('../../.cache/', import.meta.url));

export type Found = { readonly folder: string } | { readonly missing: string };

/** `KAFKA_LIBS`, else the cache, else Maven Central (43 MB, once). Another version than ours: the cache or Maven Central. */
export async function findKafkaLibs(version = kafkaVersion): Promise<Found> {
  const named = version === kafkaVersion ? process.env['KAFKA_LIBS'] : undefined;
  if (named !== undefined && named !== '') {
    return (await holdsKafka(named)) ? { folder: named } : { missing: `KAFKA_LIBS=${named} holds no kafka_2.13 jar` };
  }
  const cached = join(cacheFolder, `kafka-libs-${version}`);
  if (await holdsKafka(cached)) return { folder: cached };
  return await fetchLibs(cached, version);
}

async function holdsKafka(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch(() => []);
  return names.some((name) => /^kafka_2\.13-.*\.jar$/.test(name));
}

async function fetchLibs(folder: string, version: string): Promise<Found> {
  const work = `${folder}.${process.pid}`;
  try {
    await mkdir(work, { recursive: true });
    await writeFile(join(work, 'pom.xml'), pom(version));
    await run('mvn', ['-q', '-B', 'dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${join(work, 'libs')}`], {
      cwd: work,
      timeout: 300_000,
    });
    // Whole or not at all: another run may look, or fetch, at the same time.
    await rename(join(work, 'libs'), folder).catch(async (error: unknown) => {
      if (!(await holdsKafka(folder))) throw error;
    });
    return { folder };
  } catch (error) {
    return { missing: `fetching Kafka's jars with mvn failed: ${error instanceof Error ? error.message : String(error)}` };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

const pom = (version: string): string => `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>perdure</groupId><artifactId>kafka-for-tests</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${version}</version></dependency>
  </dependencies>
</project>
`;
