import { createHash } from 'node:crypto'
import { isRecord } from '../../base/record.ts'
import type { ApiClient } from './api-client.ts'
import { CliError } from './errors.ts'

/** A resource whose objects are migrated. */
export type StorageTarget = {
  /** `crontabs.example.com`, or `events` in the core group. */
  readonly resource: string
  /** Path of the collection in all namespaces, in a served version. */
  readonly path: string
  readonly isNamespaced: boolean
  /** Group and version that objects are stored in. */
  readonly storedAs: string
  /** null: a built-in kind. */
  readonly definition: StoredDefinition | null
}

/** The part of a CustomResourceDefinition that a migration depends on. */
export type StoredDefinition = {
  readonly path: string
  readonly uid: string
  readonly generation: number
  readonly resourceVersion: string
  readonly storage: string
  readonly storedVersions: readonly string[]
}

/** A resource that discovery lists. */
type Discovered = {
  readonly resource: string
  readonly groupVersion: string
  readonly plural: string
  readonly kind: string
  readonly isNamespaced: boolean
  readonly hash: string
}

/**
 * Returns the resources to migrate: those that are named, or all that can have objects in several
 * versions.
 *
 * @throws CliError `usage` for a name that no resource has, or several have; `failed` when the
 * server does not return them
 */
export async function storageTargets(
  client: Pick<ApiClient, 'object'>,
  wanted: { readonly names: readonly string[]; readonly all: boolean },
): Promise<{ readonly targets: readonly StorageTarget[]; readonly metaGroup: string }> {
  const groupVersions = await servedGroupVersions(client)
  const apiextensions = groupVersions.find((one) => EXTENSIONS.test(one))
  if (apiextensions === undefined)
    throw new CliError('failed', 'this server serves no CustomResourceDefinitions')
  const metaGroup = `meta.${EXTENSIONS.exec(apiextensions)?.[1] ?? ''}`
  const custom = await customTargets(client, `/apis/${apiextensions}/customresourcedefinitions`)
  const isCustom = new Set(custom.map(({ resource }) => resource))
  const served = (await discovered(client, groupVersions)).filter(({ resource }) => !isCustom.has(resource))
  const builtIn = builtInTargets(served)
  if (wanted.all) {
    const several = builtIn.filter(({ versions }) => versions > 1).map(({ target }) => target)
    return { targets: [...custom, ...several], metaGroup }
  }
  const known = [...custom, ...builtIn.map(({ target }) => target)]
  return { targets: wanted.names.map((name) => found(known, name)), metaGroup }
}

/** The group and version of definitions; the domain of the API is a part of it. */
const EXTENSIONS = /^apiextensions\.([^/]+)\/v1$/

function found(known: readonly StorageTarget[], name: string): StorageTarget {
  const exact = known.find(({ resource }) => resource === name)
  if (exact !== undefined) return exact
  const among = known.filter(({ resource }) => resource.startsWith(`${name}.`))
  const [only, other] = among
  if (only !== undefined && other === undefined) return only
  if (only === undefined) {
    throw new CliError(
      'usage',
      `no resource is named ${name}: name it as kubectl api-resources does, with its group`,
    )
  }
  const names = among.map(({ resource }) => resource).join(', ')
  throw new CliError('usage', `several resources are named ${name}: state one of ${names}`)
}

async function servedGroupVersions(client: Pick<ApiClient, 'object'>): Promise<readonly string[]> {
  const { groups } = await client.object({ method: 'GET', path: '/apis' })
  return records(groups).flatMap(({ versions }) =>
    records(versions).map(({ groupVersion }) => String(groupVersion)),
  )
}

async function customTargets(
  client: Pick<ApiClient, 'object'>,
  path: string,
): Promise<readonly StorageTarget[]> {
  const { items } = await client.object({ method: 'GET', path })
  return records(items).flatMap((item) => {
    const target = customTarget(item, path)
    return target === null ? [] : [target]
  })
}

/** @returns null: no version is served, so that no client can read its objects */
function customTarget(item: Readonly<Record<string, unknown>>, path: string): StorageTarget | null {
  const spec = record(item['spec'])
  const definition = storedDefinition(item, path)
  const versions = records(spec['versions']).filter(({ served }) => served === true)
  const version = versions.find(({ name }) => name === definition.storage) ?? versions[0]
  const group = String(spec['group'])
  const plural = String(record(spec['names'])['plural'])
  if (version === undefined) return null
  return {
    resource: `${plural}.${group}`,
    path: `/apis/${group}/${String(version['name'])}/${plural}`,
    isNamespaced: spec['scope'] === 'Namespaced',
    storedAs: `${group}/${definition.storage}`,
    definition,
  }
}

/** @param path of all definitions */
export function storedDefinition(item: Readonly<Record<string, unknown>>, path: string): StoredDefinition {
  const metadata = record(item['metadata'])
  const storage = records(record(item['spec'])['versions']).find((version) => version['storage'] === true)
  const { storedVersions } = record(item['status'])
  return {
    path: `${path}/${String(metadata['name'])}`,
    uid: String(metadata['uid']),
    generation: Number(metadata['generation']),
    resourceVersion: String(metadata['resourceVersion']),
    storage: String(storage?.['name']),
    storedVersions: Array.isArray(storedVersions) ? storedVersions.map(String) : [],
  }
}

async function discovered(
  client: Pick<ApiClient, 'object'>,
  groupVersions: readonly string[],
): Promise<readonly Discovered[]> {
  const paths = ['/api/v1', ...groupVersions.map((one) => `/apis/${one}`)]
  const all: Discovered[] = []
  for (const path of paths) {
    const { resources, groupVersion } = await client.object({ method: 'GET', path })
    for (const one of records(resources)) {
      const { name, kind, namespaced, storageVersionHash, verbs } = one
      const able = Array.isArray(verbs) && verbs.includes('list') && verbs.includes('patch')
      if (typeof name !== 'string' || typeof storageVersionHash !== 'string' || !able) continue
      const at = String(groupVersion)
      const group = at.includes('/') ? at.slice(0, at.indexOf('/')) : ''
      all.push({
        resource: group === '' ? name : `${name}.${group}`,
        ...{ groupVersion: at, plural: name, kind: String(kind), isNamespaced: namespaced === true },
        hash: storageVersionHash,
      })
    }
  }
  return all
}

/** Resources with the same hash have the same objects, such as events in two groups. */
function builtInTargets(
  served: readonly Discovered[],
): readonly { readonly target: StorageTarget; readonly versions: number }[] {
  const byHash = new Map<string, Discovered[]>()
  for (const one of served) byHash.set(one.hash, [...(byHash.get(one.hash) ?? []), one])
  return [...byHash.values()].flatMap((versions) => {
    const stored = versions.find((one) => one.hash === hashOf(one)) ?? versions[0]
    if (stored === undefined) return []
    const { resource, groupVersion, plural, isNamespaced } = stored
    const root = groupVersion.includes('/') ? '/apis' : '/api'
    const path = `${root}/${groupVersion}/${plural}`
    const target = { resource, path, isNamespaced, storedAs: groupVersion, definition: null }
    return [{ target, versions: versions.length }]
  })
}

/** @source apiserver `pkg/endpoints/discovery` StorageVersionHash */
function hashOf({ groupVersion, kind }: Discovered): string {
  const of = groupVersion.includes('/') ? groupVersion : `/${groupVersion}`
  return createHash('sha256').update(`${of}/${kind}`).digest().subarray(0, 8).toString('base64')
}

export function records(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

export function record(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {}
}
