import { flag, listOf, part, struct, text, texts } from './build.ts'
import type { ObjectSchema } from './schema.ts'

/**
 * Schemas of discovery documents, for clients that request them in protobuf.
 *
 * @source apimachinery `pkg/apis/meta/v1`, spec 4.1
 */

const groupVersion = struct('meta.v1.GroupVersionForDiscovery', 'A version of a group.', {
  groupVersion: text(1, 'Group and version, as in apiVersion.'),
  version: text(2, 'The version without the group.'),
})

const serverAddress = struct(
  'meta.v1.ServerAddressByClientCIDR',
  'Maps a client network to a server address.',
  {
    clientCIDR: text(1, 'The client network in CIDR notation.'),
    serverAddress: text(
      2,
      'The server address for that network; empty means the address that the client used.',
    ),
  },
)

const apiGroup = struct('meta.v1.APIGroup', 'A group and its versions.', {
  name: text(1, 'Name of the group.'),
  versions: listOf(2, groupVersion, 'The versions served.'),
  preferredVersion: part(3, groupVersion, 'The version that the server prefers.'),
  serverAddressByClientCIDRs: listOf(4, serverAddress, 'Server addresses by client network.'),
})

const apiResource = struct('meta.v1.APIResource', 'A resource or subresource of a group version.', {
  name: text(1, 'Plural name of the resource, as in paths.'),
  namespaced: flag(2, 'Whether the resource is namespaced.'),
  kind: text(3, 'Kind of the objects.'),
  verbs: texts(4, 'Supported verbs.', { inMessage: true }),
  shortNames: texts(5, 'Short names of the resource.'),
  singularName: text(6, 'Singular name of the resource.'),
  categories: texts(7, 'Categories that include the resource, such as all.'),
  group: text(8, 'Group of the kind, if it differs from the group of the list.'),
  version: text(9, 'Version of the kind, if it differs from the version of the list.'),
  storageVersionHash: text(10, 'Hash of the storage version; changes when the storage version does.'),
})

/** The schemas by the kind of the document. */
export const discoverySchemas: ReadonlyMap<string, ObjectSchema> = new Map([
  [
    'APIVersions',
    struct('meta.v1.APIVersions', 'Versions of the core group.', {
      versions: texts(1, 'The versions served.'),
      serverAddressByClientCIDRs: listOf(2, serverAddress, 'Server addresses by client network.'),
    }),
  ],
  ['APIGroup', apiGroup],
  [
    'APIGroupList',
    struct('meta.v1.APIGroupList', 'The API groups, without the core group.', {
      groups: listOf(1, apiGroup, 'The groups.'),
    }),
  ],
  [
    'APIResourceList',
    struct('meta.v1.APIResourceList', 'The resources of one group version.', {
      groupVersion: text(1, 'Group and version.'),
      resources: listOf(2, apiResource, 'The resources and subresources.'),
    }),
  ],
])
