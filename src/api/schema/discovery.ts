import { flag, listOf, part, struct, text, texts } from './build.ts'
import type { ObjectSchema } from './schema.ts'

/** Documents of discovery, for who reads them in protobuf. @source apimachinery `pkg/apis/meta/v1`, spec 4.1 */

const groupVersion = struct('meta.v1.GroupVersionForDiscovery', 'A version of a group.', {
  groupVersion: text(1, 'Group and version, as objects say them.'),
  version: text(2, 'The version alone.'),
})

const serverAddress = struct(
  'meta.v1.ServerAddressByClientCIDR',
  'Where clients of a network find the server.',
  {
    clientCIDR: text(1, 'The network.'),
    serverAddress: text(2, 'The address for it; empty: the one that was dialled.'),
  },
)

const apiGroup = struct('meta.v1.APIGroup', 'A group and its versions.', {
  name: text(1, 'Name of the group.'),
  versions: listOf(2, groupVersion, 'The versions served.'),
  preferredVersion: part(3, groupVersion, 'The one to use when in doubt.'),
  serverAddressByClientCIDRs: listOf(4, serverAddress, 'Where it is served.'),
})

const apiResource = struct('meta.v1.APIResource', 'A kind, or a path under its objects.', {
  name: text(1, 'Its name in paths.'),
  namespaced: flag(2, 'Its objects are in namespaces.'),
  kind: text(3, 'Its kind.'),
  verbs: texts(4, 'What can be done with it.', { inMessage: true }),
  shortNames: texts(5, 'What people call it.'),
  singularName: text(6, 'Its name for one.'),
  categories: texts(7, 'Groups of kinds it is listed with.'),
  group: text(8, 'Group of its kind, where that is another one.'),
  version: text(9, 'Version of its kind, where that is another one.'),
  storageVersionHash: text(10, 'Tells which version is stored; another text when it changes.'),
})

/** By the kind that a document says. */
export const discoverySchemas: ReadonlyMap<string, ObjectSchema> = new Map([
  [
    'APIVersions',
    struct('meta.v1.APIVersions', 'Versions of the core group.', {
      versions: texts(1, 'The versions served.'),
      serverAddressByClientCIDRs: listOf(2, serverAddress, 'Where they are served.'),
    }),
  ],
  ['APIGroup', apiGroup],
  [
    'APIGroupList',
    struct('meta.v1.APIGroupList', 'All groups but the core one.', {
      groups: listOf(1, apiGroup, 'The groups.'),
    }),
  ],
  [
    'APIResourceList',
    struct('meta.v1.APIResourceList', 'The kinds of one version of a group.', {
      groupVersion: text(1, 'Group and version.'),
      resources: listOf(2, apiResource, 'The kinds, and paths under their objects.'),
    }),
  ],
])
