/** The files of a `tls` group, towards Kafka or PostgreSQL: read and looked into when the configuration is loaded, so that a wrong one is found before a start. */
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { errorMessage } from '../kernel/error-text.ts';
import type { FileConfig } from './file-schema.ts';
import type { KafkaTls } from './kafka-options.ts';
import type { Report } from './problem.ts';

type TlsConfig = NonNullable<NonNullable<NonNullable<FileConfig['perdure']>['kafka']>['tls']>;

type Pem<Content> = { readonly text: string; readonly content: Content };

/** `path`: of the group. `folder`: file names count from it. */
export type TlsGroup = { readonly path: readonly string[]; readonly folder: string };

export function readTlsFiles(tls: TlsConfig | undefined, { path, folder }: TlsGroup, report: Report): KafkaTls | undefined {
  if (tls === undefined || tls.enabled === false) return undefined;
  if ((tls.certFile === undefined) !== (tls.keyFile === undefined)) report(path, 'certFile and keyFile go together');
  const read = <Content>(name: 'caFile' | 'certFile' | 'keyFile', parse: (text: string) => Content): Pem<Content> | undefined => {
    const given = tls[name];
    if (given === undefined) return undefined;
    if (given.includes('-----BEGIN')) {
      report([...path, name], 'holds the text of a PEM file (not shown): write it to a file, and name the file here');
      return undefined;
    }
    const filename = resolve(folder, given);
    try {
      const text = readText(filename);
      return { text, content: parse(text) };
    } catch (error) {
      report([...path, name], `${filename} ${errorMessage(error)}`);
      return undefined;
    }
  };
  const ca = read('caFile', certificatesIn);
  const cert = read('certFile', certificatesIn);
  const key = read('keyFile', privateKeyIn);
  if (cert !== undefined && key !== undefined && cert.content[0]?.checkPrivateKey(key.content) === false) {
    report([...path, 'keyFile'], `is not the private key of the certificate in certFile (${oneLine(cert.content[0].subject)})`);
  }
  return {
    ca: ca?.text,
    cert: cert?.text,
    key: key?.text,
    serverName: tls.serverName,
    verifyServer: tls.disableHostVerification !== true,
  };
}

// The messages below follow the name of the file.

function readText(filename: string): string {
  try {
    return readFileSync(filename, 'utf8');
  } catch (error) {
    // "ENOENT: no such file or directory, open '…'": the name stands there already.
    throw new Error(`cannot be read: ${errorMessage(error).replace(/, open '.*'$/, '')}`, { cause: error });
  }
}

function certificatesIn(text: string): readonly X509Certificate[] {
  const blocks = text.match(/-----BEGIN (TRUSTED )?CERTIFICATE-----[^]*?-----END (TRUSTED )?CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw new Error('holds no certificate in PEM form (-----BEGIN CERTIFICATE----- …)');
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch (error) {
      throw new Error(`is damaged: certificate ${index + 1} of ${blocks.length} is none (${errorMessage(error)})`, { cause: error });
    }
  });
}

function privateKeyIn(text: string): KeyObject {
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) throw new Error('holds no private key in PEM form (-----BEGIN PRIVATE KEY----- …)');
  if (/ENCRYPTED/.test(text)) throw new Error('is encrypted with a passphrase; decrypt it: openssl pkey -in FILE -out FILE.plain');
  try {
    return createPrivateKey(text);
  } catch (error) {
    throw new Error(`is damaged: it holds no private key (${errorMessage(error)})`, { cause: error });
  }
}

function oneLine(subject: string): string {
  return subject.replaceAll('\n', ', ');
}
