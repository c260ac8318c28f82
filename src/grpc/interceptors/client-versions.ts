import { clientVersionNotSupported, serverVersionNotSupported } from '../errors/details.ts';
import { invalidArgument, type StatusError } from '../errors/status-error.ts';
import type { Interceptor } from '../transport/call.ts';
import { parseVersion, satisfies } from './semantic-versions.ts';

/** Clients that are known by name, and the versions of them that this server speaks with. Others are let in. */
export const supportedClients: ReadonlyMap<string, string> = new Map([
  ['temporal-cli', '<2.0.0'],
  ['temporal-dotnet', '<2.0.0'],
  ['temporal-go', '<2.0.0'],
  ['temporal-java', '<2.0.0'],
  ['temporal-php', '<2.0.0'],
  ['temporal-python', '<2.0.0'],
  ['temporal-ruby', '<2.0.0'],
  ['temporal-server', '<2.0.0'],
  ['temporal-typescript', '<2.0.0'],
  ['temporal-ui', '<3.0.0'],
]);

const verdictsMax = 1_000;

/** Refuses clients that this server is too new or too old for. The same few header triples come with every call: each is judged once. */
export function clientVersions(serverVersion: string): Interceptor {
  const verdicts = new Map<string, StatusError | undefined>();
  return {
    before: (call) => {
      const name = call.header('client-name');
      const version = call.header('client-version');
      const servers = call.header('supported-server-versions');
      if (name === '' && servers === '') return;
      const triple = `${name}\n${version}\n${servers}`;
      if (!verdicts.has(triple)) {
        if (verdicts.size >= verdictsMax) verdicts.clear();
        verdicts.set(triple, judge(name, version, servers, serverVersion));
      }
      const verdict = verdicts.get(triple);
      if (verdict !== undefined) throw verdict;
    },
  };
}

function judge(name: string, version: string, servers: string, serverVersion: string): StatusError | undefined {
  const range = supportedClients.get(name);
  if (range !== undefined && version !== '') {
    const supported = satisfies(version, range);
    if (supported === undefined) return invalidArgument(`Unable to parse client version: ${version}`);
    if (!supported) {
      return clientVersionNotSupported(`Client version ${version} is not supported. Server supports ${name} versions: ${range}`, {
        clientVersion: version,
        clientName: name,
        supportedVersions: range,
      });
    }
  }
  if (servers === '' || parseVersion(serverVersion) === undefined) return undefined;
  const accepted = satisfies(serverVersion, servers);
  if (accepted === undefined) return invalidArgument(`Unable to parse supported server versions: ${servers}`);
  if (accepted) return undefined;
  return serverVersionNotSupported(`Server version ${serverVersion} is not supported. Client supports server versions: ${servers}`, {
    serverVersion,
    clientSupportedServerVersions: servers,
  });
}
