import type { Names } from '../../api/metadata/names.ts'
import type { Catalog } from '../../registry/kinds/catalog.ts'
import { contentHash } from '../http/content-hash.ts'
import { jsonBytes } from '../responses/json-reply.ts'
import type { StaticDocument } from '../responses/static-document.ts'
import { aggregatedDocument } from './aggregated.ts'
import { discoveredGroups } from './groups.ts'
import type { DiscoveredGroup } from './groups.ts'
import { plainDocument, plainPaths } from './plain.ts'

/**
 * The discovery documents of the current catalog. Each is built on request and rebuilt only after a
 * change of the catalog. A document with the same content as before the change stays the same
 * object, so that its cached encodings stay valid.
 */
export class Discovery {
  readonly #catalog: Catalog
  readonly #names: Names
  #version = -1
  #groups: readonly DiscoveredGroup[] = []
  /** For this version of the catalog, by path; aggregated ones by root and API version. */
  #documents = new Map<string, StaticDocument>()
  /** The documents that were requested before the last change of the catalog, by the same keys. */
  #before: ReadonlyMap<string, StaticDocument> = new Map()

  constructor(catalog: Catalog, names: Names) {
    this.#catalog = catalog
    this.#names = names
  }

  /**
   * @param path without a trailing slash
   * @returns null without such a document
   */
  plain(path: string): StaticDocument | null {
    this.#renew()
    const known = this.#documents.get(path)
    if (known !== undefined) return known
    const value = plainDocument(this.#groups, path)
    return value === null ? null : this.#keep(path, value)
  }

  /** @param apiVersion as the client named it */
  aggregated(root: '/api' | '/apis', apiVersion: string): StaticDocument {
    this.#renew()
    const key = `${root} ${apiVersion}`
    const groups = this.#groups.filter(({ name }) => (name === '') === (root === '/api'))
    return this.#documents.get(key) ?? this.#keep(key, aggregatedDocument(groups, apiVersion))
  }

  /** The paths of the plain documents. */
  paths(): readonly string[] {
    this.#renew()
    return plainPaths(this.#groups)
  }

  #renew(): void {
    const { version } = this.#catalog
    if (this.#version === version) return
    this.#version = version
    this.#groups = discoveredGroups(this.#catalog.all(), this.#names.groupStem)
    this.#before = this.#documents
    this.#documents = new Map()
  }

  #keep(key: string, value: object): StaticDocument {
    const bytes = jsonBytes(value)
    const before = this.#before.get(key)
    const isSame = before !== undefined && Buffer.compare(before.bytes, bytes) === 0
    const document = isSame ? before : { bytes, etag: `"${contentHash(bytes)}"` }
    this.#documents.set(key, document)
    return document
  }
}
