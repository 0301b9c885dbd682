import assert from 'node:assert/strict'
import { objectMember, objectsMember, textMember } from '../../src/api/json.ts'
import type { JsonObject, JsonObjectDraft } from '../../src/api/json.ts'
import type { Names } from '../../src/api/names.ts'
import { ownedByServer } from './full-object.ts'

/** What a server makes of what a client said, where it keeps something else: named here, so that all else is kept. */
type Owned = (said: JsonObject, names: Names) => JsonObject

const onCreate: { readonly [kind: string]: Owned } = {
  CertificateSigningRequest: (said) => {
    const spec = { ...objectMember(said, 'spec'), ...caller }
    return { ...withoutMembers({ ...said, spec }, 'spec', 'extra'), status: {} }
  },
  CustomResourceDefinition: (said) => ({
    ...said,
    status: { acceptedNames: { kind: '', plural: '' }, conditions: null, storedVersions: ['v1'] },
  }),
  Event: (said) => {
    if (said['apiVersion'] === 'v1') return said
    return { deprecatedFirstTimestamp: null, deprecatedLastTimestamp: null, ...said }
  },
  Member: (said) => ({ ...said, status: { phase: 'Pending' } }),
  Namespace: (said, names) => {
    const metadata = objectMember(said, 'metadata')
    const label = { [names.label('metadata.name')]: textMember(metadata, 'name') }
    const labels = { ...objectMember(metadata, 'labels'), ...label }
    return { ...said, metadata: { ...metadata, labels }, status: { phase: 'Active' } }
  },
  Node: withoutOldSettings,
  PersistentVolume: (said) => ({ ...said, status: { phase: 'Pending' } }),
  PersistentVolumeClaim: (said) => ({ ...said, status: { phase: 'Pending' } }),
  Pod: (said, names) => ({
    ...withProfileAnnotations(said, names),
    status: { phase: 'Pending', qosClass: 'Guaranteed' },
  }),
  Secret: (said) => {
    const texts = objectMember(said, 'stringData')
    const bytes = Object.keys(texts).map(
      (key) => [key, Buffer.from(textMember(texts, key)).toString('base64')] as const,
    )
    const draft: JsonObjectDraft = {
      ...said,
      data: { ...objectMember(said, 'data'), ...Object.fromEntries(bytes) },
    }
    delete draft['stringData']
    return draft
  },
  ServiceAccount: (said) => ({
    ...said,
    secrets: objectsMember(said, 'secrets').map((secret) => ({ name: textMember(secret, 'name') })),
  }),
  VolumeAttachment: (said) => ({ ...said, status: { attached: false } }),
}

/** What a new Pod says of system calls, it says in annotations too. */
function withProfileAnnotations(said: JsonObject, names: Names): JsonObject {
  const spec = objectMember(said, 'spec')
  const annotations: JsonObjectDraft = {}
  const add = (key: string, of: JsonObject): void => {
    const profile = objectMember(objectMember(of, 'securityContext'), 'seccompProfile')
    const words: { readonly [type: string]: string } = {
      RuntimeDefault: 'runtime/default',
      Unconfined: 'unconfined',
      Localhost: `localhost/${textMember(profile, 'localhostProfile')}`,
    }
    const text = words[textMember(profile, 'type')]
    if (text !== undefined) annotations[key] = text
  }
  add(names.labelUnder('seccomp.security.alpha', 'pod'), spec)
  for (const container of ['initContainers', 'containers'].flatMap((list) => objectsMember(spec, list))) {
    add(names.labelUnder('container.seccomp.security.alpha', textMember(container, 'name')), container)
  }
  const metadata = objectMember(said, 'metadata')
  const all = { ...objectMember(metadata, 'annotations'), ...annotations }
  return { ...said, metadata: { ...metadata, annotations: all } }
}

/** Who asks, as `ADMIN` is known. */
const caller: JsonObject = { username: 'admin', uid: '1', groups: ['system:masters', 'system:authenticated'] }

/** Nodes do not take their settings from objects any more. */
function withoutOldSettings(said: JsonObject): JsonObject {
  return withoutMembers(withoutMembers(said, 'spec', 'configSource'), 'status', 'config')
}

function withoutMembers(object: JsonObject, member: string, name: string): JsonObject {
  const draft: JsonObjectDraft = { ...objectMember(object, member) }
  delete draft[name]
  return { ...object, [member]: draft }
}

/** What is stored of a new object, but for the metadata of the server. */
export function storedObject(said: JsonObject, names: Names): JsonObject {
  return clientsPart(onCreate[textMember(said, 'kind')]?.(said, names) ?? said)
}

/** What is stored when all of it is said through a subresource. */
export function storedPart(said: JsonObject): JsonObject {
  return clientsPart(textMember(said, 'kind') === 'Node' ? withoutOldSettings(said) : said)
}

const metadataOfServer = ['resourceVersion', ...Object.keys(ownedByServer)]

/** Without what of metadata only the server says. */
export function clientsPart(object: JsonObject): JsonObject {
  const metadata: JsonObjectDraft = { ...objectMember(object, 'metadata') }
  for (const name of metadataOfServer) delete metadata[name]
  return { ...object, metadata }
}

/** Of an object that was just made by somebody who wanted to say all of it. */
export function checkServersPart(object: JsonObject): void {
  const metadata = objectMember(object, 'metadata')
  assert.match(
    textMember(metadata, 'uid'),
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  )
  assert.notEqual(metadata['uid'], ownedByServer['uid'])
  assert.match(textMember(metadata, 'resourceVersion'), /^[1-9][0-9]*$/)
  const age = Date.now() - Date.parse(textMember(metadata, 'creationTimestamp'))
  assert.ok(age > -5_000 && age < 600_000, `${age} ms old`)
  assert.equal(metadata['generation'] ?? 1, 1)
  for (const name of [
    'selfLink',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'clusterName',
    'managedFields',
  ]) {
    assert.equal(metadata[name], undefined, name)
  }
}
