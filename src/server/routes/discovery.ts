import { pathNotFound } from '../../api/api-errors.ts'
import { compareVersions } from '../../api/group-version.ts'
import type { Catalog } from '../../registry/catalog.ts'
import type { ResourceDefinition } from '../../registry/definition.ts'
import { callOf } from '../fastify-types.ts'
import type { App } from '../fastify-types.ts'
import { contentHash } from '../openapi/content-hash.ts'
import type { StaticDocument } from '../static-document.ts'
import { jsonBytes, sendJsonDocument } from './json.ts'

/** Which groups, versions and resources there are: `/api`, `/apis` and below. Built once. */
export function discoveryRoutes(app: App, catalog: Catalog): void {
  const documents = discoveryDocuments(catalog)
  for (const url of ['/api', '/api/', '/api/:version', '/api/:version/', '/apis', '/apis/']) serve(app, url)
  for (const url of ['/apis/:group', '/apis/:group/', '/apis/:group/:version', '/apis/:group/:version/']) {
    serve(app, url)
  }

  function serve(scope: App, url: string): void {
    scope.route({
      method: ['GET', 'HEAD'],
      url,
      handler: (request, reply) => {
        const document = documents.get(callOf(request).info.action.path.replace(/\/+$/, ''))
        if (document === undefined) throw pathNotFound()
        sendJsonDocument(request, reply, document)
      },
    })
  }
}

/** By path, without a slash at the end. */
export function discoveryDocuments(catalog: Catalog): ReadonlyMap<string, StaticDocument> {
  const documents = new Map<string, StaticDocument>()
  const core: string[] = []
  const groups: object[] = []
  for (const [group, versions] of byGroup(catalog)) {
    const names = [...versions.keys()].toSorted(compareVersions)
    for (const [version, definitions] of versions) {
      const prefix = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
      documents.set(prefix, documentOf(resourceList(group, version, definitions)))
    }
    if (group === '') {
      core.push(...names)
      continue
    }
    const all = names.map((version) => ({ groupVersion: `${group}/${version}`, version }))
    const entry = { name: group, versions: all, preferredVersion: all[0] }
    groups.push(entry)
    documents.set(`/apis/${group}`, documentOf({ kind: 'APIGroup', apiVersion: 'v1', ...entry }))
  }
  // Upstream tells each network the address to use; one cluster, one network here: whatever was dialled.
  const anyAddress = [{ clientCIDR: '0.0.0.0/0', serverAddress: '' }]
  documents.set(
    '/api',
    documentOf({ kind: 'APIVersions', versions: core, serverAddressByClientCIDRs: anyAddress }),
  )
  documents.set('/apis', documentOf({ kind: 'APIGroupList', apiVersion: 'v1', groups }))
  return documents
}

function documentOf(value: object): StaticDocument {
  const bytes = jsonBytes(value)
  return { bytes, etag: `"${contentHash(bytes)}"` }
}

function byGroup(catalog: Catalog): Map<string, Map<string, ResourceDefinition[]>> {
  const groups = new Map<string, Map<string, ResourceDefinition[]>>()
  for (const definition of catalog.all()) {
    const versions = groups.get(definition.group) ?? new Map<string, ResourceDefinition[]>()
    groups.set(definition.group, versions)
    const definitions = versions.get(definition.version) ?? []
    versions.set(definition.version, definitions)
    definitions.push(definition)
  }
  return groups
}

function resourceList(group: string, version: string, definitions: readonly ResourceDefinition[]): object {
  const resources = definitions.flatMap((definition) => [
    resourceEntry(definition),
    ...definition.subresources.map(({ name, verbs }) => ({
      name: `${definition.plural}/${name}`,
      singularName: '',
      namespaced: definition.scope === 'Namespaced',
      kind: definition.kind,
      verbs: verbs.toSorted(),
    })),
  ])
  return {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: group === '' ? version : `${group}/${version}`,
    resources: resources.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  }
}

function resourceEntry(definition: ResourceDefinition): { readonly name: string } {
  const { shortNames, categories } = definition
  return {
    name: definition.plural,
    ...{ singularName: definition.singular, namespaced: definition.scope === 'Namespaced' },
    ...{ kind: definition.kind, verbs: definition.verbs.toSorted() },
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
  }
}
