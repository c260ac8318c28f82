/** The public API's own descriptors, by reflection: what our codecs are measured against. */
import { join } from 'node:path';
import protobuf from 'protobufjs';
import { loadProtos, publicApiFolders } from '../../scripts/generate/public-api.ts';

/** Our Matching and Admin services, with the parts of the public API that they carry. */
export function loadServices(repository: string, protoFiles: readonly string[]): protobuf.Root {
  return loadProtos([join(repository, 'proto'), ...publicApiFolders()], protoFiles, { keepCase: true });
}

/** Every message and enumeration below a namespace, the nested ones too. */
export function declaredTypes(parent: protobuf.NamespaceBase): (protobuf.Type | protobuf.Enum)[] {
  return parent.nestedArray.flatMap((nested) => {
    if (nested instanceof protobuf.Enum) return [nested];
    const below = nested instanceof protobuf.Namespace ? declaredTypes(nested) : [];
    return nested instanceof protobuf.Type ? [nested, ...below] : below;
  });
}

/** The name inside its package: Outer.Inner. */
export function localName(type: protobuf.ReflectionObject): string {
  return type.parent instanceof protobuf.Type ? `${localName(type.parent)}.${type.name}` : type.name;
}

/** Names that two packages use; the one that our messages mean. */
const meant = new Map([
  ['OnConflictOptions', '.temporal.api.workflow.v1.OnConflictOptions'],
  ['Failure', '.temporal.api.failure.v1.Failure'],
  ['Link', '.temporal.api.common.v1.Link'],
]);

/** Local name -> type of the public API. Any other name that two packages use is refused here, so that no test compares with the wrong one. */
export function upstreamByLocalName(root: protobuf.Root, wanted: ReadonlySet<string>): Map<string, protobuf.Type | protobuf.Enum> {
  const found = new Map<string, protobuf.Type | protobuf.Enum>();
  for (const type of declaredTypes(root)) {
    const name = localName(type);
    if (!wanted.has(name) || (meant.get(name) ?? type.fullName) !== type.fullName) continue;
    const earlier = found.get(name);
    if (earlier) throw new Error(`${name} is both ${earlier.fullName} and ${type.fullName}`);
    found.set(name, type);
  }
  return found;
}
